/* SPDX-License-Identifier: Apache-2.0
 *
 * volume heal (cli.md 5.7). What the daemon can do is asked of it. To find out
 * what needs healing and to resolve split brains a program of its own
 * (programs/heal) is run, which becomes a client of the volume; its output and exit
 * status are passed on.
 */
#include "programs/glusterish/cli.h"
#include "programs/common/names.h"

#include <errno.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define HEAL_PROC 31
#define TIMEOUT_S 600 /* cli.md 1.4 */
#define ARGS_MAX 16

extern char **environ;

static bool
is(const char *word, const char *wanted)
{
  return strcmp(word, wanted) == 0; /* heal words are not abbreviated */
}

/* ---- the helper ---- */

/* $GLUSTERISH_HEAL, the one of the same build tree, or the installed one. */
static char *
find_helper(void)
{
  const char *env = getenv("GLUSTERISH_HEAL");
  char self[4096];
  ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
  if (env && *env)
    return gi_strdup(env);
  self[n > 0 ? n : 0] = '\0';
  for (int up = 0; up < 2 && strrchr(self, '/'); up++) /* the program's directory, and out of .libs */
    *strrchr(self, '/') = '\0';
  char *beside = gi_asprintf("%s/../heal/glusterish-heal", self);
  if (n > 0 && access(beside, X_OK) == 0)
    return beside;
  gi_free(beside);
  return gi_strdup(GI_LIBEXECDIR "/glusterish-heal");
}

static int
start(const char *const *argv, pid_t *pid, int *out)
{
  posix_spawn_file_actions_t fa;
  int fd[2];
  if (pipe(fd))
    return errno;
  posix_spawn_file_actions_init(&fa);
  posix_spawn_file_actions_adddup2(&fa, fd[1], 1);
  posix_spawn_file_actions_addclosefrom_np(&fa, 3);
  int ret = posix_spawnp(pid, argv[0], &fa, NULL, (char *const *)argv, environ);
  posix_spawn_file_actions_destroy(&fa);
  close(fd[1]);
  if (ret)
    close(fd[0]);
  else
    *out = fd[0];
  return ret;
}

/* Runs the helper with `n` words; its output goes where ours goes, its exit status is returned. */
static int
run_helper(struct cli *c, const char *volume, int n, const char *const *words)
{
  GI_CLEANUP_FREE char *program = find_helper();
  GI_CLEANUP_FREE char *sock = gi_asprintf("--glusterd-sock=%s", c->sock ? c->sock : "");
  GI_CLEANUP_FREE char *remote = gi_asprintf("--remote-host=%s", c->remote ? c->remote : "");
  const char *argv[ARGS_MAX] = {program, c->remote ? remote : sock};
  int k = 2, out = -1, status;
  pid_t pid;
  char buf[65536];
  ssize_t got;
  if (c->xml || c->json)
    argv[k++] = c->json ? "--json" : "--xml";
  if (c->no_log)
    argv[k++] = "--nolog";
  argv[k++] = "--";
  argv[k++] = volume;
  for (int i = 0; i < n && k < ARGS_MAX - 1; i++)
    argv[k++] = words[i];
  fflush(c->out);
  int ret = start(argv, &pid, &out);
  if (ret) {
    fprintf(c->err, "Cannot run %s: %s\n", program, strerror(ret));
    return CLI_FAILED;
  }
  while ((got = read(out, buf, sizeof(buf))) > 0 || (got < 0 && errno == EINTR))
    if (got > 0)
      fwrite(buf, 1, (size_t)got, c->out);
  close(out);
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
    ;
  if (WIFEXITED(status))
    return WEXITSTATUS(status);
  fprintf(c->err, "%s died of signal %d\n", program, WTERMSIG(status));
  return CLI_FAILED;
}

/* ---- what the daemon does ---- */

/* The outcome has a sentence of its own on both paths: "<what> on volume V has been successful " and the opposite. */
static int
send(struct cli *c, const char *command, const char *op, const char *replica, const char *what,
     void (*render)(struct cli *c, const json_t *doc), int n, char **words)
{
  struct cli_reply reply;
  int status, timeout = c->timeout_s;
  json_t *request = cli_request(command, words[2], n, words);
  json_object_set_new(request, "op", json_string(op));
  if (replica)
    json_object_set_new(request, "replica", json_string(replica));
  c->timeout_s = timeout > TIMEOUT_S ? timeout : TIMEOUT_S;
  int asked = cli_ask(c, HEAL_PROC, request, &reply, &status);
  c->timeout_s = timeout;
  if (asked)
    return status;
  if (reply.ret) {
    fprintf(c->err, "%s on volume %s has been unsuccessful:\n%s\n", what, words[2], reply.text);
  } else {
    fprintf(c->out, "%s on volume %s has been successful \n", what, words[2]);
    if (render)
      render(c, reply.doc);
  }
  status = reply.ret ? CLI_FAILED : CLI_OK;
  cli_reply_clear(&reply);
  return status;
}

static void
render_launched(struct cli *c, const json_t *doc)
{
  fprintf(c->out, "Use heal info commands to check status.\n");
}

/* HOST:/PATH, canonical; NULL after telling the user. Caller frees. */
static char *
brick_word(struct cli *c, const struct cli_command *cmd, const char *word)
{
  char *host, *path, *brick;
  struct gi_error err = {0};
  if (prog_brick_parse(word, &host, &path, &err)) {
    cli_bad(c, cmd, "%s", err.text);
    return NULL;
  }
  brick = gi_asprintf("%s:%s", host, path);
  gi_free(host);
  gi_free(path);
  return brick;
}

static int
statistics(struct cli *c, const struct cli_command *cmd, int n, char **words)
{
  static const char command[] = "volume heal status";
  if (n == 4)
    return send(c, command, "statistics", NULL, "Gathering crawl statistics", cli_render_heal_statistics, n, words);
  if (!is(words[4], "heal-count"))
    return cli_usage(c, cmd);
  if (n == 5)
    return send(c, command, "heal-count", NULL, "Gathering count of entries to be healed", cli_render_heal_count, n, words);
  if (n != 7 || !is(words[5], "replica"))
    return cli_usage(c, cmd);
  GI_CLEANUP_FREE char *brick = brick_word(c, cmd, words[6]);
  if (!brick)
    return CLI_FAILED;
  return send(c, command, "heal-count", brick, "Gathering count of entries to be healed per replica", cli_render_heal_count, n,
              words);
}

/* ---- granular entry heal ---- */

static int
granular(struct cli *c, const struct cli_command *cmd, int n, char **words)
{
  static const char *const pending[] = {"pending"};
  if (n != 5 || (!is(words[4], "enable") && !is(words[4], "disable")))
    return cli_usage(c, cmd);
  if (is(words[4], "disable"))
    return send(c, "volume heal", "granular-disable", NULL, "Disable granular entry heal", NULL, n, words);
  /* Names that changed before it was on are in no index of names: nothing may be pending. */
  int status = run_helper(c, words[2], 1, pending);
  return status ? status : send(c, "volume heal", "granular-enable", NULL, "Enable granular entry heal", NULL, n, words);
}

/* ---- info, split-brain ---- */

static int
info(struct cli *c, const struct cli_command *cmd, int n, char **words)
{
  if (n > 5 || (n == 5 && !is(words[4], "summary") && !is(words[4], "split-brain")))
    return cli_usage(c, cmd);
  const char *what[] = {n == 4 ? "info" : words[4]};
  return run_helper(c, words[2], 1, what);
}

static int
split_brain(struct cli *c, const struct cli_command *cmd, int n, char **words)
{
  bool by_size = n == 6 && is(words[4], "bigger-file"), by_time = n == 6 && is(words[4], "latest-mtime");
  bool by_brick = (n == 6 || n == 7) && is(words[4], "source-brick");
  if (!by_size && !by_time && !by_brick)
    return cli_usage(c, cmd);
  GI_CLEANUP_FREE char *brick = by_brick ? brick_word(c, cmd, words[5]) : gi_strdup(words[5]);
  if (!brick)
    return CLI_FAILED;
  const char *args[] = {words[4], brick, n == 7 ? words[6] : NULL};
  return run_helper(c, words[2], n - 4, args);
}

int
cli_volume_heal(struct cli *c, const struct cli_command *cmd, int n, char **words)
{
  if (n < 3)
    return cli_usage(c, cmd);
  if (n == 3)
    return send(c, "volume heal", "index", NULL, "Launching heal operation to perform index self heal", render_launched, n,
                words);
  if (n == 4 && is(words[3], "full"))
    return send(c, "volume heal", "full", NULL, "Launching heal operation to perform full self heal", render_launched, n,
                words);
  if (n == 4 && is(words[3], "enable"))
    return send(c, "volume heal", "enable", NULL, "Enable heal", NULL, n, words);
  if (n == 4 && is(words[3], "disable"))
    return send(c, "volume heal", "disable", NULL, "Disable heal", NULL, n, words);
  if (is(words[3], "statistics"))
    return statistics(c, cmd, n, words);
  if (is(words[3], "info"))
    return info(c, cmd, n, words);
  if (is(words[3], "split-brain"))
    return split_brain(c, cmd, n, words);
  if (is(words[3], "granular-entry-heal"))
    return granular(c, cmd, n, words);
  return cli_usage(c, cmd);
}
