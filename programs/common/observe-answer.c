/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers of the observation socket: JSON.
 */
#include "programs/common/observe-answer.h"
#include "libglusterish/mem.h"

json_t *
ob_text(const char *text)
{
  if (!text)
    return json_null();
  json_t *s = json_string(text);
  if (s)
    return s;
  GI_CLEANUP_FREE char *plain = gi_strdup(text);
  for (char *c = plain; *c; c++)
    if ((unsigned char)*c >= 0x80)
      *c = '?';
  return json_string(plain);
}

void
ob_answer(struct gi_observe_request *rq, json_t *document)
{
  FILE *out = gi_observe_out(rq);
  int ret = document ? json_dumpf(document, out, JSON_COMPACT | JSON_PRESERVE_ORDER) : -1;
  json_decref(document);
  if (ret < 0) {
    gi_observe_refuse(rq, 500, "the answer cannot be written as JSON");
    return;
  }
  putc('\n', out);
  gi_observe_done(rq, 200);
}
