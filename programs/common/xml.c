/* SPDX-License-Identifier: Apache-2.0
 *
 * The XML envelope of every result (cli.md 4).
 *
 * libxml2 brings ICU and others along, and loading them is a quarter of what
 * starting the tool costs; so it is loaded when somebody wants XML.
 */
#include "programs/common/xml.h"
#include "libglusterish/mem.h"

#include <dlfcn.h>

#define LIBRARY "libxml2.so.2"
/* clang-format off */
#define FUNCTIONS(X) \
  X(xmlBufferContent) X(xmlBufferCreate) X(xmlBufferFree) X(xmlBufferLength) X(xmlEncodeSpecialChars) X(xmlFree) \
  X(xmlFreeTextWriter) X(xmlNewTextWriterMemory) X(xmlTextWriterEndDocument) X(xmlTextWriterEndElement) \
  X(xmlTextWriterSetIndent) X(xmlTextWriterSetIndentString) X(xmlTextWriterStartDocument) \
  X(xmlTextWriterStartElement) X(xmlTextWriterWriteAttribute) X(xmlTextWriterWriteFormatElement) \
  X(xmlTextWriterWriteFormatRaw) X(xmlTextWriterWriteString)
/* clang-format on */

static struct {
  void *handle;
#define FIELD(f) __typeof__(&f) f;
  FUNCTIONS(FIELD)
} lib;

static void *
must(void *found)
{
  if (found)
    return found;
  fprintf(stderr, "glusterish: no XML without " LIBRARY ": %s\n", dlerror());
  exit(1);
}

static void
load_library(void)
{
  if (lib.handle)
    return;
  lib.handle = must(dlopen(LIBRARY, RTLD_NOW));
#define LOAD(f) lib.f = (__typeof__(&f))must(dlsym(lib.handle, #f));
  FUNCTIONS(LOAD)
}

static const xmlChar *
xs(const char *s)
{
  return (const xmlChar *)s;
}

void
cli_xml_open(struct cli_xml *x, const char *name)
{
  lib.xmlTextWriterStartElement(x->w, xs(name));
}

void
cli_xml_attribute(struct cli_xml *x, const char *name, const char *value)
{
  lib.xmlTextWriterWriteAttribute(x->w, xs(name), xs(value));
}

void
cli_xml_write(struct cli_xml *x, const char *text)
{
  lib.xmlTextWriterWriteString(x->w, xs(text));
}

/* The writer puts elements on lines of their own, so this is written raw. */
void
cli_xml_inline(struct cli_xml *x, const char *name, const char *text)
{
  xmlChar *safe = lib.xmlEncodeSpecialChars(NULL, xs(text));
  GI_ASSERT(safe);
  lib.xmlTextWriterWriteFormatRaw(x->w, "<%s>%s</%s>", name, safe, name);
  (*lib.xmlFree)(safe);
}

void
cli_xml_close(struct cli_xml *x)
{
  lib.xmlTextWriterEndElement(x->w);
}

void
cli_xml_text(struct cli_xml *x, const char *name, const char *text)
{
  cli_xml_open(x, name);
  if (*text)
    cli_xml_write(x, text);
  cli_xml_close(x);
}

void
cli_xml_int(struct cli_xml *x, const char *name, long long value)
{
  lib.xmlTextWriterWriteFormatElement(x->w, xs(name), "%lld", value);
}

void
cli_xml_start(struct cli_xml *x, const char *root)
{
  load_library();
  x->buf = lib.xmlBufferCreate();
  x->w = lib.xmlNewTextWriterMemory(x->buf, 0);
  GI_ASSERT(x->buf && x->w);
  lib.xmlTextWriterSetIndent(x->w, 1);
  lib.xmlTextWriterSetIndentString(x->w, xs("  "));
  lib.xmlTextWriterStartDocument(x->w, "1.0", "UTF-8", "yes");
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
  lib.xmlTextWriterEndDocument(x->w);
  lib.xmlFreeTextWriter(x->w);
  fwrite(lib.xmlBufferContent(x->buf), 1, (size_t)lib.xmlBufferLength(x->buf), out);
  lib.xmlBufferFree(x->buf);
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
