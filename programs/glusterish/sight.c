/* SPDX-License-Identifier: Apache-2.0
 *
 * Takes a sight: asks the daemon and all processes of this node. Whoever does
 * not answer in time is not asked again; what is missing is missing in the
 * document.
 */
#include "programs/glusterish/sight.h"
#include "programs/common/observe.h"
#include "libglusterish/error.h"
#include "libglusterish/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#define INFO_PROC 5
#define STATUS_PROC 27
#define GET_PROC 41
#define DAEMON_S 5      /* it has nothing to do for long */
#define ANSWER_MS 2000u /* who takes longer is busy enough to be worth telling */
#define PENDING_MAX 100000

static double
now_s(void)
{
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

bool
sight_allowed(struct cli *c)
{
  struct gi_error err = {0};
  if (ob_allowed(&err))
    return true;
  fprintf(c->err, "%s\n", err.text);
  return false;
}

/* ---- the daemon ---- */

/* Its answer; NULL if there is none or it refuses. */
static json_t *
ask_daemon(struct cli *c, unsigned proc, json_t *request, bool *answered)
{
  struct cli_reply reply;
  FILE *nowhere = fopen("/dev/null", "we"); /* that it is silent is told by the document */
  struct cli quiet = *c;
  quiet.out = quiet.err = nowhere ? nowhere : stderr;
  quiet.timeout_s = c->timeout_s < DAEMON_S ? c->timeout_s : DAEMON_S;
  *answered = quiet.call(&quiet, proc, request, &reply) == 0;
  json_t *doc = *answered && !reply.ret ? json_incref(reply.doc) : NULL;
  if (*answered)
    cli_reply_clear(&reply);
  if (nowhere)
    fclose(nowhere);
  return doc;
}

static void
take_nodes(json_t *volumes, const json_t *status)
{
  size_t i, k;
  json_t *v, *s;
  json_array_foreach(volumes, i, v)
  {
    json_array_foreach(json_object_get(status, "volumes"), k, s)
    {
      if (strcmp(cli_str(v, "name"), cli_str(s, "name")) == 0)
        json_object_set(v, "nodes", json_object_get(s, "nodes"));
    }
  }
}

static long long
pool_number(struct cli *c, const char *key)
{
  bool answered;
  json_t *request = cli_request("volume get", "all", 0, NULL);
  json_object_set_new(request, "key", json_string(key));
  json_t *doc = ask_daemon(c, GET_PROC, request, &answered);
  const char *value = cli_str(json_array_get(json_object_get(doc, "options"), 0), "value");
  long long number = strtoll(value, NULL, 10);
  json_decref(doc);
  return number;
}

static void
take_volumes(struct cli *c, json_t *sight, const char *volume)
{
  bool answered;
  json_t *info = ask_daemon(c, INFO_PROC, cli_request("volume info", volume, 0, NULL), &answered);
  json_object_set_new(sight, "daemon", json_boolean(answered));
  json_t *volumes = json_incref(json_object_get(info, "volumes"));
  json_object_set_new(sight, "volumes", volumes ? volumes : json_array());
  json_decref(info);
  if (!answered)
    return;
  json_t *status = ask_daemon(c, STATUS_PROC, cli_request("volume status", volume, 0, NULL), &answered);
  take_nodes(json_object_get(sight, "volumes"), status);
  json_decref(status);
  json_object_set_new(sight, "opVersion", json_integer(pool_number(c, "cluster.op-version")));
  json_object_set_new(sight, "opVersionMax", json_integer(pool_number(c, "cluster.max-op-version")));
}

/* ---- a process ---- */

/* "S", "T" …; "" if it is gone. */
static void
take_state(json_t *p, long pid)
{
  char path[64], text[512] = "";
  snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
  FILE *f = fopen(path, "re");
  const char *end = f && fgets(text, sizeof(text), f) ? strrchr(text, ')') : NULL;
  if (f)
    fclose(f);
  char state[2] = {end && end[1] == ' ' ? end[2] : '\0'};
  json_object_set_new(p, "state", json_string(state));
}

static void
take_disk(json_t *p, const char *brick)
{
  struct statvfs st;
  if (statvfs(brick, &st))
    return;
  json_object_set_new(p, "disk",
                      json_pack("{s:I, s:I, s:I, s:I}", "bytes", (json_int_t)st.f_blocks * (json_int_t)st.f_frsize, "free",
                                (json_int_t)st.f_bavail * (json_int_t)st.f_frsize, "inodes", (json_int_t)st.f_files,
                                "inodes_free", (json_int_t)st.f_favail));
}

/* The names in an index that stand for objects: all but its own file. */
static long long
index_size(const char *brick, const char *index)
{
  GI_CLEANUP_FREE char *path = gi_asprintf("%s/.glusterfs/indices/%s", brick, index);
  long long n = 0;
  DIR *d = opendir(path);
  for (struct dirent *e = d ? readdir(d) : NULL; e && n <= PENDING_MAX; e = readdir(d))
    n += e->d_name[0] != '.' && strncmp(e->d_name, index, strlen(index)) != 0;
  if (d)
    closedir(d);
  return n;
}

static void
take_heal(json_t *p, const char *brick)
{
  long long n = index_size(brick, "xattrop");
  json_object_set_new(p, "heal", json_pack("{s:I, s:b}", "pending", (json_int_t)n, "more", n > PENDING_MAX));
}

/* One of its documents. False: it did not answer in time. That it has no such document is no reason not to ask for others. */
static bool
take_document(const struct ob_process *ob, json_t *p, const char *member, const char *path)
{
  struct gi_error err = {0};
  json_t *doc = ob_get_json(ob, path, ANSWER_MS, &err);
  if (doc)
    json_object_set_new(p, member, doc);
  return doc || err.code != ETIMEDOUT;
}

static bool
take_metrics(const struct ob_process *ob, json_t *p)
{
  struct gi_error err = {0};
  GI_CLEANUP_FREE char *text = ob_get_text(ob, "/metrics", ANSWER_MS, &err);
  json_t *v = text ? json_string(text) : NULL;
  if (v)
    json_object_set_new(p, "metrics", v);
  return text || err.code != ETIMEDOUT;
}

static void
take_documents(const struct ob_process *ob, json_t *p, const char *gfid, unsigned what)
{
  static const struct {
    unsigned what;
    const char *member, *role; /* NULL: all have it */
    const char *path;          /* NULL: as the member */
  } documents[] = {{SIGHT_LAYERS, "layers", NULL},      {SIGHT_INFLIGHT, "inflight", NULL},
                   {SIGHT_CLIENTS, "clients", "brick"}, {SIGHT_ERRORS, "errors", NULL},
                   {SIGHT_GRAPH, "graph", NULL},        {SIGHT_FILES, "files", "brick"},
                   {SIGHT_LOCKS, "locks", "brick"},     {SIGHT_TOP, "top", NULL, "layers?top=1"}};
  bool answers = true;
  for (size_t i = 0; answers && i < GI_ARRAY_LEN(documents); i++) {
    bool locks = documents[i].what == SIGHT_LOCKS && gfid && !(what & SIGHT_ALL_LOCKS);
    GI_CLEANUP_FREE char *path = gi_asprintf("/%s%s%s", documents[i].path ? documents[i].path : documents[i].member,
                                             locks ? "?gfid=" : "", locks ? gfid : "");
    if ((what & documents[i].what) && (!documents[i].role || strcmp(ob->role, documents[i].role) == 0))
      answers = take_document(ob, p, documents[i].member, path);
  }
  if (answers && (what & SIGHT_METRICS))
    answers = take_metrics(ob, p);
  GI_CLEANUP_FREE char *object = gfid ? gi_asprintf("/object?gfid=%s", gfid) : NULL;
  if (answers && object)
    answers = take_document(ob, p, "object", object);
  json_object_set_new(p, "answers", json_boolean(answers));
}

/* ---- who does not say who he is ---- */

static json_t *
text_or_null(const char *text)
{
  json_t *v = text ? json_string(text) : json_null();
  return v ? v : json_null();
}

/* The arguments of a process, each ended by a NUL; 0: they cannot be read. */
static size_t
read_arguments(long pid, char *buf, size_t size)
{
  char path[64];
  snprintf(path, sizeof(path), "/proc/%ld/cmdline", pid);
  FILE *f = fopen(path, "re");
  size_t n = f ? fread(buf, 1, size - 1, f) : 0;
  if (f)
    fclose(f);
  buf[n] = '\0';
  return n;
}

/* The value of "--name=value" or of "--name" and the argument after it; NULL: `arg` is something else. */
static const char *
value_of(const char *arg, const char *end, const char *name)
{
  size_t len = strlen(name);
  const char *next = arg + strlen(arg) + 1;
  if (strncmp(arg, name, len) != 0)
    return NULL;
  return arg[len] == '=' ? arg + len + 1 : !arg[len] && next < end ? next : NULL;
}

/* A process that is frozen tells nothing, but how it was started does: {"brick"} or {"mountpoint"}, and the host is this one. */
static json_t *
guess(const struct ob_process *ob)
{
  char buf[8192], host[256] = "";
  const char *end = buf + read_arguments(ob->pid, buf, sizeof(buf)), *last = "";
  json_t *about = json_object();
  gethostname(host, sizeof(host) - 1);
  json_object_set_new(about, "host", text_or_null(host));
  for (const char *arg = buf; arg < end; arg += strlen(arg) + 1) {
    const char *brick = value_of(arg, end, "--brick-name");
    if (brick)
      json_object_set_new(about, "brick", text_or_null(brick));
    last = arg;
  }
  if (ob->role && strcmp(ob->role, "client") == 0 && *last == '/')
    json_object_set_new(about, "mountpoint", text_or_null(last));
  return about;
}

/* The volume that has the brick, by what the daemon tells, and what it calls it; NULL: none. */
static const char *
volume_of_brick(const json_t *volumes, const char *brick, const char **name)
{
  size_t i, k;
  json_t *v, *b;
  json_array_foreach(volumes, i, v)
  {
    json_array_foreach(json_object_get(v, "bricks"), k, b)
    {
      const char *path = strchr(cli_str(b, "name"), '/');
      if (!path || !*brick || strcmp(path, brick) != 0)
        continue;
      *name = cli_str(b, "name");
      return cli_str(v, "name");
    }
  }
  return NULL;
}

static json_t *
take_process(const struct ob_process *ob, const json_t *volumes, const char *gfid, unsigned what)
{
  json_t *about = ob->about ? json_incref(ob->about) : guess(ob);
  const char *brick = cli_str(about, "brick");
  const char *name = NULL, *named = volume_of_brick(volumes, brick, &name);
  const char *volume = ob->volume ? ob->volume : named;
  double began = now_s();
  json_t *p = json_pack("{s:o, s:o, s:o, s:I, s:o, s:f}", "role", text_or_null(ob->role), "volume", text_or_null(volume),
                        "socket", text_or_null(ob->socket), "pid", (json_int_t)ob->pid, "about", about, "asked_at", began);
  json_object_set_new(p, "brick", text_or_null(name));
  take_state(p, ob->pid);
  if (ob->about)
    take_documents(ob, p, gfid, what);
  else
    json_object_set_new(p, "answers", json_false());
  json_object_set_new(p, "asked_ms", json_integer((json_int_t)((now_s() - began) * 1000)));
  if ((what & SIGHT_DISKS) && *brick) {
    take_disk(p, brick);
    take_heal(p, brick);
  }
  return p;
}

/* A process that does not answer is asked for among all: its socket may not tell its volume. */
json_t *
sight_take(struct cli *c, const char *volume, const char *gfid, unsigned what)
{
  struct ob_process *list = NULL;
  json_t *processes = json_array();
  json_t *sight = json_pack("{s:f, s:o}", "now", now_s(), "processes", processes);
  if (what & SIGHT_VOLUMES)
    take_volumes(c, sight, volume);
  const json_t *volumes = json_object_get(sight, "volumes");
  unsigned n = ob_list(&list, NULL);
  for (unsigned i = 0; i < n; i++) {
    if (volume && list[i].volume && strcmp(list[i].volume, volume) != 0)
      continue;
    json_t *p = take_process(&list[i], volumes, gfid, what);
    if (!volume || strcmp(cli_str(p, "volume"), volume) == 0)
      json_array_append(processes, p);
    json_decref(p);
  }
  ob_list_free(list, n);
  json_object_set_new(sight, "now", json_real(now_s()));
  return sight;
}
