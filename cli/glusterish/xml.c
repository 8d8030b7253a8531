/* SPDX-License-Identifier: Apache-2.0
 *
 * The XML envelope of every result (cli.md 4).
 */
#include "cli/glusterish/cli.h"

static const xmlChar *
xs(const char *s)
{
  return (const xmlChar *)s;
}

void
cli_xml_open(struct cli_xml *x, const char *name)
{
  xmlTextWriterStartElement(x->w, xs(name));
}

void
cli_xml_close(struct cli_xml *x)
{
  xmlTextWriterEndElement(x->w);
}

void
cli_xml_text(struct cli_xml *x, const char *name, const char *text)
{
  cli_xml_open(x, name);
  if (*text)
    xmlTextWriterWriteString(x->w, xs(text));
  cli_xml_close(x);
}

void
cli_xml_int(struct cli_xml *x, const char *name, long long value)
{
  xmlTextWriterWriteFormatElement(x->w, xs(name), "%lld", value);
}

void
cli_xml_start(struct cli_xml *x, const char *root)
{
  x->buf = xmlBufferCreate();
  x->w = xmlNewTextWriterMemory(x->buf, 0);
  GI_ASSERT(x->buf && x->w);
  xmlTextWriterSetIndent(x->w, 1);
  xmlTextWriterSetIndentString(x->w, xs("  "));
  xmlTextWriterStartDocument(x->w, "1.0", "UTF-8", "yes");
  cli_xml_open(x, root);
}

void
cli_xml_result(struct cli_xml *x, int ret, int err, const char *text)
{
  cli_xml_int(x, "opRet", ret);
  cli_xml_int(x, "opErrno", err);
  cli_xml_text(x, "opErrstr", text);
}

void
cli_xml_begin(struct cli_xml *x, const struct cli_reply *reply)
{
  cli_xml_start(x, "cliOutput");
  cli_xml_result(x, reply->ret, reply->err, reply->text);
}

void
cli_xml_end(struct cli_xml *x, FILE *out)
{
  xmlTextWriterEndDocument(x->w);
  xmlFreeTextWriter(x->w);
  fwrite(xmlBufferContent(x->buf), 1, (size_t)xmlBufferLength(x->buf), out);
  xmlBufferFree(x->buf);
}

void
cli_xml_string(struct cli *c, const struct cli_reply *reply, const char *cli_op, const char *output)
{
  struct cli_xml x;
  cli_xml_begin(&x, reply);
  if (cli_op)
    cli_xml_text(&x, "cliOp", cli_op);
  if (output)
    cli_xml_text(&x, "output", output);
  cli_xml_end(&x, c->out);
}
