/* SPDX-License-Identifier: Apache-2.0
 *
 * bundle: one archive for a report. Everything is written into a directory that
 * only its owner may look into, tar(1) packs it, and it is removed again.
 * What gives access to a volume is left out (bundle-text.c).
 */
#include "programs/glusterish/bundle.h"
#include "programs/glusterish/cli.h"
#include "programs/glusterish/rates.h"
#include "programs/common/observe.h"
#include "libglusterish/log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <spawn.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ANSWER_MS 5000u
#define SPEC_PROC 17
#define LOG_FILES_MAX 200

extern char **environ;

struct bundle {
  struct cli *c;
  char *dir;  /* what is packed */
  char *name; /* its last part */
  unsigned files;
};

/* A new file below the directory; NULL after telling why not. */
static FILE *
open_part(struct bundle *b, const char *name)
{
  GI_CLEANUP_FREE char *path = gi_asprintf("%s/%s", b->dir, name);
  for (char *c = path + strlen(b->dir) + 1; *c; c++)
    *c = *c == '/' ? '-' : *c;
  FILE *f = fopen(path, "wxe");
  if (f)
    b->files++;
  else
    fprintf(b->c->err, "%s: %s\n", path, strerror(errno));
  return f;
}

static void
put_json(struct bundle *b, const char *name, const json_t *doc)
{
  FILE *f = open_part(b, name);
  if (!f)
    return;
  GI_CLEANUP_FREE char *plain = NULL;
  char *text = json_dumps(doc, JSON_INDENT(2));
  plain = text ? bundle_without_secrets(text) : NULL;
  fputs(plain ? plain : "", f);
  free(text);
  fclose(f);
}

static void
put_text(struct bundle *b, const char *name, const char *text)
{
  FILE *f = open_part(b, name);
  if (!f)
    return;
  GI_CLEANUP_FREE char *plain = bundle_without_secrets(text);
  fputs(plain, f);
  fclose(f);
}

/* ---- processes ---- */

static void
take_text(struct bundle *b, const struct ob_process *p, const char *path, const char *suffix)
{
  struct gi_error err = {0};
  GI_CLEANUP_FREE char *name = gi_asprintf("%s-%s-%ld-%s", p->role, p->volume ? p->volume : "", p->pid, suffix);
  GI_CLEANUP_FREE char *text = ob_get_text(p, path, ANSWER_MS, &err);
  if (text || !p->about) /* that it does not answer is worth knowing, that it has nothing of the kind is not */
    put_text(b, name, text ? text : err.text);
}

static void
take_processes(struct bundle *b)
{
  static const struct {
    const char *path, *suffix;
  } parts[] = {{"/process", "process.json"},    {"/metrics", "metrics.txt"},
               {"/statedump", "statedump.txt"}, {"/graph", "graph.json"},
               {"/layers", "layers.json"},      {"/inflight", "inflight.json"},
               {"/slow", "slow.json"},          {"/recorder?last=1000", "recorder.json"},
               {"/errors", "errors.json"},      {"/clients", "clients.json"},
               {"/locks", "locks.json"},        {"/files", "files.json"}};
  struct ob_process *list = NULL;
  unsigned n = ob_list(&list, NULL);
  for (unsigned i = 0; i < n; i++)
    for (size_t k = 0; k < GI_ARRAY_LEN(parts) && (k == 0 || list[i].about); k++)
      take_text(b, &list[i], parts[k].path, parts[k].suffix);
  ob_list_free(list, n);
}

/* ---- the daemon ---- */

static void
take_volfile(struct bundle *b, const char *volume)
{
  struct cli_reply reply;
  if (b->c->call(b->c, SPEC_PROC, cli_request("system getspec", volume, 0, NULL), &reply))
    return;
  GI_CLEANUP_FREE char *name = gi_asprintf("volume-%s.vol", volume);
  put_text(b, name, cli_str(reply.doc, "spec"));
  cli_reply_clear(&reply);
}

static void
take_sight(struct bundle *b)
{
  size_t i;
  json_t *v;
  json_t *sight = sight_take(b->c, NULL, NULL,
                             SIGHT_VOLUMES | SIGHT_DISKS | SIGHT_LAYERS | SIGHT_INFLIGHT | SIGHT_LOCKS | SIGHT_CLIENTS |
                                 SIGHT_ERRORS | SIGHT_GRAPH);
  json_t *findings = doctor_look(sight);
  put_json(b, "sight.json", sight);
  put_json(b, "doctor.json", findings);
  json_array_foreach(json_object_get(sight, "volumes"), i, v) take_volfile(b, cli_str(v, "name"));
  json_decref(findings);
  json_decref(sight);
}

/* ---- files ---- */

static void
take_log(struct bundle *b, const char *path, const char *name)
{
  GI_CLEANUP_FREE char *tail = bundle_tail(path, BUNDLE_LOG_BYTES);
  GI_CLEANUP_FREE char *part = gi_asprintf("log-%s", name);
  if (tail)
    put_text(b, part, tail);
}

static void
take_logs(struct bundle *b, const char *dir, unsigned depth)
{
  DIR *d = opendir(dir);
  for (struct dirent *e = d ? readdir(d) : NULL; e && b->files < LOG_FILES_MAX; e = readdir(d)) {
    GI_CLEANUP_FREE char *path = gi_asprintf("%s/%s", dir, e->d_name);
    size_t len = strlen(e->d_name);
    struct stat st;
    if (e->d_name[0] == '.' || lstat(path, &st))
      continue;
    if (S_ISDIR(st.st_mode) && depth)
      take_logs(b, path, depth - 1);
    else if (S_ISREG(st.st_mode) && len > 4 && strcmp(e->d_name + len - 4, ".log") == 0)
      take_log(b, path, e->d_name);
  }
  if (d)
    closedir(d);
}

static void
take_machine(struct bundle *b)
{
  static const char *const files[] = {"/proc/meminfo", "/proc/loadavg",   "/proc/cpuinfo",     "/proc/mounts",
                                      "/proc/uptime",  "/etc/os-release", "/proc/pressure/io", "/proc/pressure/memory"};
  struct utsname u;
  FILE *f = open_part(b, "versions.txt");
  if (f) {
    fprintf(f, "glusterish %s\n", GI_VERSION);
    if (uname(&u) == 0)
      fprintf(f, "%s %s %s %s\n", u.sysname, u.release, u.version, u.machine);
    fclose(f);
  }
  for (size_t i = 0; i < GI_ARRAY_LEN(files); i++) {
    GI_CLEANUP_FREE char *text = bundle_tail(files[i], BUNDLE_LOG_BYTES);
    if (text)
      put_text(b, files[i] + 1, text);
  }
}

/* ---- the archive ---- */

static int
run_tar(struct bundle *b, const char *file)
{
  GI_CLEANUP_FREE char *above = gi_strdup(b->dir);
  const char *argv[] = {"tar", "--owner=0", "--group=0", "-czf", file, "-C", above, "--", b->name, NULL};
  pid_t pid;
  int status;
  *strrchr(above, '/') = '\0';
  int ret = posix_spawnp(&pid, "tar", NULL, NULL, (char *const *)argv, environ);
  if (ret) {
    fprintf(b->c->err, "Cannot run tar: %s\n", strerror(ret));
    return CLI_FAILED;
  }
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
    ;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? CLI_OK : CLI_FAILED;
}

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
  return remove(path);
}

/* NULL after telling why not. It is the caller's, as is what is in it. */
static char *
make_dir(struct cli *c, char **above)
{
  const char *tmp = getenv("TMPDIR");
  char stamp[32] = "";
  time_t now = time(NULL);
  struct tm tm;
  *above = gi_asprintf("%s/glusterish-bundle.XXXXXX", tmp && *tmp == '/' ? tmp : "/var/tmp");
  if (!mkdtemp(*above)) {
    fprintf(c->err, "%s: %s\n", *above, strerror(errno));
    return NULL;
  }
  if (gmtime_r(&now, &tm))
    strftime(stamp, sizeof(stamp), "%Y%m%d-%H%M%S", &tm);
  char *dir = gi_asprintf("%s/glusterish-%s", *above, stamp);
  if (mkdir(dir, 0700) == 0)
    return dir;
  fprintf(c->err, "%s: %s\n", dir, strerror(errno));
  gi_free(dir);
  return NULL;
}

static void
tell_bundle(const struct bundle *b, const char *file)
{
  if (!b->c->json) {
    fprintf(b->c->out, "%s: %u files. Passwords and keys are left out; names of files, machines and users are not.\n", file,
            b->files);
    return;
  }
  json_t *doc = json_pack("{s:o, s:i}", "file", ob_text(file), "files", (int)b->files);
  json_dumpf(doc, b->c->out, JSON_INDENT(2));
  fputc('\n', b->c->out);
  json_decref(doc);
}

static int
bundle(struct cli *c, const char *file, const char *logs)
{
  GI_CLEANUP_FREE char *above = NULL;
  GI_CLEANUP_FREE char *dir = make_dir(c, &above);
  if (!dir)
    return CLI_FAILED;
  struct bundle b = {.c = c, .dir = dir, .name = strrchr(dir, '/') + 1};
  GI_CLEANUP_FREE char *own = gi_asprintf("%s.tar.gz", b.name);
  take_machine(&b);
  take_sight(&b);
  take_processes(&b);
  take_logs(&b, logs ? logs : GI_LOG_DIR, 1);
  mode_t mask = umask(077); /* whoever may read the archive knows names of files and machines */
  int status = run_tar(&b, file ? file : own);
  umask(mask);
  nftw(above, remove_one, 16, FTW_DEPTH | FTW_PHYS);
  if (!status)
    tell_bundle(&b, file ? file : own);
  return status;
}
int
cli_bundle(struct cli *c, const struct cli_command *cmd, int n, char **words)
{
  const char *logs = NULL;
  const struct cli_option options[] = {{.name = "logs", .value = &logs}, {.name = NULL}};
  if (!cli_take_options(c, cmd, options, &n, words))
    return CLI_FAILED;
  if (n > 2)
    return cli_usage(c, cmd);
  return !sight_allowed(c) ? CLI_FAILED : bundle(c, n > 1 ? words[1] : NULL, logs);
}
