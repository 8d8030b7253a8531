/* SPDX-License-Identifier: Apache-2.0
 *
 * The XML envelope of results (cli.md 4).
 */
#ifndef PROG_XML_H
#define PROG_XML_H

#include "programs/common/request.h"

#include <libxml/xmlwriter.h>

struct cli_xml {
  xmlTextWriterPtr w;
  xmlBufferPtr buf;
};
void cli_xml_start(struct cli_xml *x, const char *root);                    /* the document and its outermost element */
void cli_xml_result(struct cli_xml *x, int ret, int err, const char *text); /* opRet, opErrno, opErrstr */
void cli_xml_begin(struct cli_xml *x, const struct cli_reply *reply);       /* up to opErrstr */
void cli_xml_end(struct cli_xml *x, FILE *out);
void cli_xml_open(struct cli_xml *x, const char *name);
void cli_xml_attribute(struct cli_xml *x, const char *name,
                       const char *value);                                  /* of what was opened last and is empty so far */
void cli_xml_write(struct cli_xml *x, const char *text);                    /* within what is open */
void cli_xml_inline(struct cli_xml *x, const char *name, const char *text); /* <name>text</name> on the same line */
void cli_xml_close(struct cli_xml *x);
void cli_xml_text(struct cli_xml *x, const char *name, const char *text); /* "" gives <name/> */
void cli_xml_int(struct cli_xml *x, const char *name, long long value);
/* The result of a command that only has a sentence: <cliOp>, <output>. cli_op NULL = output only; output NULL = nothing. */
void cli_xml_string(struct cli *c, const struct cli_reply *reply, const char *cli_op, const char *output);

#endif
