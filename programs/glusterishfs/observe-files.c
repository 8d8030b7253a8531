/* SPDX-License-Identifier: Apache-2.0
 *
 * /files of a brick: what is done to its busiest files, as debug/io-stats has
 * counted it. Their names are asked from the brick, so the answer comes later.
 */
#include "programs/common/observe-answer.h"
#include "programs/glusterishfs/glusterishfs.h"
#include "libglusterish/manage-op.h"

#include <string.h>

struct question {
  struct gi_manage m;
  struct gi_observe_request *rq;
};

static json_t *
file_of(const struct gi_dict *d, unsigned i)
{
  static const char *const counts[] = {"open", "read", "write", "opendir", "readdir", "bytes_read", "bytes_written"};
  json_t *file = json_object();
  json_object_set_new(file, "path", ob_text(gi_top_fact(d, "filename", i)));
  json_object_set_new(file, "gfid", ob_text(gi_top_fact(d, "gfid", i)));
  for (size_t k = 0; k < GI_ARRAY_LEN(counts); k++) {
    uint64_t value = 0;
    char key[64];
    snprintf(key, sizeof(key), "%s-%u", counts[k], i);
    gi_dict_get_uint(d, key, &value);
    json_object_set_new(file, counts[k], json_integer((json_int_t)value));
  }
  return file;
}

static void
answered(struct gi_manage *m, int err)
{
  struct question *q = GI_CONTAINER(m, struct question, m);
  struct gi_dict *in = (struct gi_dict *)m->in;
  uint64_t n = 0;
  json_t *files = json_array();
  gi_dict_get_uint(m->out, "members", &n);
  for (unsigned i = 1; !err && i <= n && i <= GI_TOP_LIST_MAX; i++)
    json_array_append_new(files, file_of(m->out, i));
  ob_answer(q->rq, json_pack("{s:o}", "files", files));
  gi_dict_unref(&in);
  gi_dict_unref(&m->out);
  gi_free(q);
}

static void
show_files(struct gi_observe_request *rq, void *arg)
{
  struct fs_process *p = arg;
  struct gi_xlator *x = p->ctx.graph ? gi_graph_find(p->ctx.graph, p->cfg->brick_name) : NULL;
  if (!x || !x->cls->manage) {
    ob_answer(rq, json_pack("{s:[]}", "files"));
    return;
  }
  struct gi_dict *in = gi_dict_new();
  gi_dict_set_int(in, "op", GI_INFO_TOP);
  struct question *q = gi_new(struct question);
  *q = (struct question){.m = {.op = GI_MANAGE_INFO, .in = in, .out = gi_dict_new(), .done = answered}, .rq = rq};
  x->cls->manage(x, &q->m);
}

void
fs_observe_files(struct fs_process *p)
{
  if (p->cfg->brick_name)
    gi_observe_add(p->ctx.observe, "/files", "application/json", show_files, p);
}
