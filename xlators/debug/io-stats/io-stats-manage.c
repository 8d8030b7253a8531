/* SPDX-License-Identifier: Apache-2.0
 *
 * What the management daemon asks for `volume profile` and `volume top`
 * (mgmt-protocol.md 5.1). Names of files are asked from the translators below,
 * so the lists are made on a task.
 */
#include "xlators/debug/io-stats/io-stats.h"
#include "libglusterish/task.h"

#include <errno.h>
#include <time.h>

static void
put(struct gi_dict *d, const char *what, unsigned i, uint64_t value)
{
  GI_CLEANUP_FREE char *key = gi_asprintf("%s-%u", what, i);
  gi_dict_set_uint(d, key, value);
}

static void
put_text(struct gi_dict *d, const char *what, unsigned i, const char *value)
{
  GI_CLEANUP_FREE char *key = gi_asprintf("%s-%u", what, i);
  gi_dict_set_str(d, key, value);
}

/* ---- names ---- */

/* "<POSIX(BRICK):HOST:BRICK/path>": the path, cut out of the text in place. NULL if it is another text, or the object has no name. */
static char *
path_of_info(char *text)
{
  static const char begin[] = "<POSIX(";
  size_t len = strlen(text);
  char *brick = text + sizeof(begin) - 1, *end = strncmp(text, begin, sizeof(begin) - 1) == 0 ? strstr(brick, "):") : NULL;
  if (!end || len < 2 || text[len - 1] != '>')
    return NULL;
  text[len - 1] = '\0';
  *end = '\0';
  char *again = strchr(end + 2, ':'); /* behind the host */
  if (!again || strncmp(again + 1, brick, strlen(brick)) != 0)
    return NULL;
  char *path = again + 1 + strlen(brick);
  if (strncmp(path, "/.glusterfs/", 12) == 0)
    return NULL;
  return *path ? path : (char *)"/";
}

/* Of a file that has no name any more: "<gfid:…>". On a task; the caller frees it. */
static char *
name_of(struct gi_xlator *x, const struct gi_gfid *gfid)
{
  char text[GI_UUID_TEXT];
  const char *info, *path = NULL;
  GI_CLEANUP_FREE char *copy = NULL;
  struct gi_fop *fop = gi_fop_new(x->graph, GI_FOP_GETXATTR);
  fop->caller.pid = -1;
  fop->loc.gfid = *gfid;
  fop->args.name = "glusterfs.pathinfo";
  gi_task_fop(fop, x->children[0]);
  if (fop->rsp.ret >= 0 && gi_dict_get_str(fop->rsp.dict, "glusterfs.pathinfo", &info)) {
    copy = gi_strdup(info);
    path = path_of_info(copy);
  }
  gi_fop_unref(fop);
  return path ? gi_strdup(path) : gi_asprintf("<gfid:%s>", gi_gfid_text(gfid, text));
}

/* ---- volume top ---- */

struct top {
  struct gi_xlator *x;
  struct gi_manage *m;
  enum gi_top what; /* 0: all lists in one */
  unsigned n;
  struct ios_file file[GI_TOP_LIST_MAX];
};

static void
put_all_counts(struct gi_dict *d, unsigned i, const struct ios_file *f)
{
  static const char *const names[] = {NULL, "open", "read", "write", "opendir", "readdir"};
  char gfid[GI_UUID_TEXT];
  put_text(d, "gfid", i, gi_gfid_text(&f->gfid, gfid));
  for (unsigned k = GI_TOP_OPEN; k <= GI_TOP_READDIR; k++)
    put(d, names[k], i, f->count[k]);
  put(d, "bytes_read", i, f->read_bytes);
  put(d, "bytes_written", i, f->write_bytes);
}

static void
put_file(const struct top *t, unsigned i, const struct ios_file *f)
{
  struct gi_dict *d = t->m->out;
  if (t->what == 0) {
    put_all_counts(d, i, f);
  } else if (t->what <= GI_TOP_READDIR) {
    put(d, "value", i, f->count[t->what]);
  } else {
    bool write = t->what == GI_TOP_WRITE_PERF;
    GI_CLEANUP_FREE char *mbps = gi_asprintf("%f", f->best[write].mbps);
    put_text(d, "value", i, mbps);
    put(d, "time-sec", i, (uint64_t)f->best[write].when.sec);
    put(d, "time-usec", i, f->best[write].when.nsec / 1000);
  }
}

static void
list(void *arg)
{
  struct top *t = arg;
  struct gi_manage *m = t->m;
  GI_ASSERT(t->n <= GI_TOP_LIST_MAX);
  for (unsigned i = 0; i < t->n; i++) {
    GI_CLEANUP_FREE char *name = name_of(t->x, &t->file[i].gfid);
    put_text(m->out, "filename", i + 1, name);
    put_file(t, i + 1, &t->file[i]);
  }
  gi_dict_set_uint(m->out, "members", t->n);
  gi_free(t);
  m->done(m, 0);
}

static void
put_open(const struct ios_private *p, struct gi_dict *d)
{
  gi_dict_set_uint(d, "current-open", p->open);
  gi_dict_set_uint(d, "max-open", p->most_open);
  if (p->most_open == 0)
    return;
  char text[64], all[96];
  struct tm tm;
  time_t sec = (time_t)p->most_open_at.sec;
  strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", gmtime_r(&sec, &tm));
  snprintf(all, sizeof(all), "%s.%06u +0000", text, p->most_open_at.nsec / 1000);
  gi_dict_set_str(d, "max-openfd-time", all);
}

static void
clear(struct gi_xlator *x, struct gi_manage *m)
{
  struct ios_private *p = ios_private(x);
  ios_files_clear(p);
  p->most_open = p->open;
  p->most_open_at = gi_wall(x->reactor);
  gi_dict_set_uint(m->out, "stats-cleared", 1);
  m->done(m, 0);
}

/* On to the list, once what comes before it is known. */
static void
measured(const struct ios_speed *s, int err, void *arg)
{
  struct top *t = arg;
  struct gi_manage *m = t->m;
  if (err) {
    gi_free(t);
    m->done(m, err);
    return;
  }
  GI_CLEANUP_FREE char *mbps = gi_asprintf("%f", s->mbps), *usec = gi_asprintf("%f", s->seconds * 1e6);
  gi_dict_set_str(m->out, "throughput", mbps);
  gi_dict_set_str(m->out, "time", usec);
  gi_task_start(t->x->reactor, list, t);
}

static void
top(struct gi_xlator *x, struct gi_manage *m)
{
  int64_t what = 0, rows = GI_TOP_LIST_MAX, blocks = 0, size = 0, wanted = 0;
  gi_dict_get_int(m->in, "clear-stats", &wanted);
  gi_dict_get_int(m->in, "top-op", &what);
  gi_dict_get_int(m->in, "list-cnt", &rows);
  gi_dict_get_int(m->in, "blk-size", &size);
  gi_dict_get_int(m->in, "blk-cnt", &blocks);
  if (wanted) {
    clear(x, m);
    return;
  }
  if (what < 0 || what > GI_TOP_WRITE_PERF || rows < 0 || rows > GI_TOP_LIST_MAX) {
    m->done(m, EINVAL);
    return;
  }
  struct top *t = gi_new(struct top);
  *t = (struct top){.x = x, .m = m, .what = (enum gi_top)what};
  t->n = ios_files_top(ios_private(x), t->what, (unsigned)rows, t->file);
  if (t->what == GI_TOP_OPEN)
    put_open(ios_private(x), m->out);
  /* The translator at the top of a brick has its directory as name. */
  if (t->what < GI_TOP_READ_PERF || !size || x->name[0] != '/')
    gi_task_start(x->reactor, list, t);
  else if (!ios_speed_measure(x, x->name, t->what == GI_TOP_WRITE_PERF, (uint64_t)size, (uint64_t)blocks, measured, t))
    measured(NULL, EINVAL, t);
}

void
ios_manage(struct gi_xlator *x, struct gi_manage *m)
{
  int64_t op = 0, what = GI_PROFILE_ALL, peek = 0;
  if (m->op == GI_MANAGE_INFO)
    gi_dict_get_int(m->in, "op", &op);
  if (op == GI_INFO_TOP) {
    top(x, m);
    return;
  }
  if (op != GI_INFO_PROFILE) {
    m->done(m, EOPNOTSUPP);
    return;
  }
  gi_dict_get_int(m->in, "info-op", &what);
  gi_dict_get_int(m->in, "peek", &peek);
  m->done(m, ios_profile(x, what, peek != 0, m->out) ? 0 : EINVAL);
}
