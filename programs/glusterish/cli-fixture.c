/* SPDX-License-Identifier: Apache-2.0
 *
 * The canned daemon of cli-fixture.h.
 */
#include "programs/glusterish/cli-fixture.h"

static int
canned(struct cli *c, unsigned proc, json_t *request, struct cli_reply *reply)
{
  struct run *r = c->arg;
  json_decref(r->request);
  r->request = request;
  r->proc = proc;
  r->calls++;
  *reply = (struct cli_reply){.ret = r->ret,
                              .err = r->code,
                              .text = gi_strdup(r->text ? r->text : ""),
                              .doc = json_loads(r->doc ? r->doc : "{}", 0, NULL)};
  assert_non_null(reply->doc);
  return 0;
}

void
done(struct run *r)
{
  free(r->out);
  free(r->err);
  json_decref(r->request);
  r->out = r->err = NULL;
  r->request = NULL;
  r->calls = 0;
}

void
run_with(struct run *r, const char *line, const char *input)
{
  GI_CLEANUP_FREE char *copy = gi_strdup(line);
  char *words[64], *save = NULL;
  int n = 0;
  done(r);
  for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save))
    words[n++] = w;
  r->c.call = canned;
  r->c.arg = r;
  r->c.script = !input;
  r->c.in = input ? fmemopen((void *)input, strlen(input) + 1, "r") : NULL;
  r->c.out = open_memstream(&r->out, &r->out_len);
  r->c.err = open_memstream(&r->err, &r->err_len);
  r->status = cli_run(&r->c, n, words);
  fclose(r->c.out);
  fclose(r->c.err);
  if (r->c.in)
    fclose(r->c.in);
}

void
run(struct run *r, const char *line)
{
  run_with(r, line, NULL);
}

bool
begins(const char *text, const char *with)
{
  return strncmp(text, with, strlen(with)) == 0;
}

const char *
sent(const struct run *r, const char *member)
{
  return cli_str(r->request, member);
}
