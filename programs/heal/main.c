/* SPDX-License-Identifier: Apache-2.0
 *
 * glusterish-heal: see heal.h. Exit status: 0; 1 for what could not be healed;
 * else an errno, negative (256 minus it) for a volume that cannot be looked at,
 * as scripts know it from GlusterFS (cli.md 5.7).
 */
#include "programs/heal/heal.h"

#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <string.h>

enum { A_XML = 1000, A_JSON, A_SOCK, A_REMOTE, A_NOLOG, A_LOG };

static const struct argp_option options[] = {
    {"xml", A_XML, NULL, 0, "XML output", 0},
    {"json", A_JSON, NULL, 0, "JSON output", 0},
    {"glusterd-sock", A_SOCK, "PATH", 0, "unix socket of the management daemon", 0},
    {"remote-host", A_REMOTE, "HOST", 0, "ask the management daemon of HOST", 0},
    {"log-file", A_LOG, "PATH", 0, "log file", 0},
    {"nolog", A_NOLOG, NULL, 0, "no log file", 0},
    {0},
};

static const struct {
  const char *word;
  enum heal_command command;
  unsigned min, max; /* words that follow */
} commands[] = {
    {"info", HEAL_INFO, 0, 0},
    {"summary", HEAL_SUMMARY, 0, 0},
    {"split-brain", HEAL_SPLITS, 0, 0},
    {"pending", HEAL_PENDING, 0, 0},
    {"bigger-file", HEAL_BIGGER_FILE, 1, 1},
    {"latest-mtime", HEAL_LATEST_MTIME, 1, 1},
    {"source-brick", HEAL_SOURCE_BRICK, 1, 2},
};

#define WORDS_MAX 4

struct arguments {
  struct heal *heal;
  const char *word[WORDS_MAX];
  unsigned n;
  const char *log_file;
  bool no_log;
};

static void
take_words(struct argp_state *state, struct arguments *a)
{
  struct heal *h = a->heal;
  const char *word = a->n > 1 ? a->word[1] : "info";
  unsigned rest = a->n > 2 ? a->n - 2 : 0;
  if (a->n == 0)
    argp_error(state, "which volume?");
  h->volume = a->word[0];
  for (size_t i = 0; i < GI_ARRAY_LEN(commands); i++) {
    if (strcmp(word, commands[i].word) != 0 || rest < commands[i].min || rest > commands[i].max)
      continue;
    h->command = commands[i].command;
    h->brick = h->command == HEAL_SOURCE_BRICK ? a->word[2] : NULL;
    h->file = h->command == HEAL_SOURCE_BRICK ? a->word[3] : a->word[2];
    return;
  }
  argp_error(state, "unknown command, or words too many or too few: %s", word);
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
  struct arguments *a = state->input;
  switch (key) {
  case A_XML:
    a->heal->report.form = HEAL_XML;
    break;
  case A_JSON:
    a->heal->report.form = HEAL_JSON;
    break;
  case A_SOCK:
    a->heal->cli.sock = arg;
    a->heal->cli.remote = NULL;
    break;
  case A_REMOTE:
    a->heal->cli.remote = arg;
    break;
  case A_LOG:
    a->log_file = arg;
    break;
  case A_NOLOG:
    a->no_log = true;
    break;
  case ARGP_KEY_ARG:
    if (a->n == WORDS_MAX)
      argp_error(state, "too many words");
    a->word[a->n++] = arg;
    break;
  case ARGP_KEY_END:
    take_words(state, a);
    break;
  default:
    return ARGP_ERR_UNKNOWN;
  }
  return 0;
}

static void
show_version(FILE *out, struct argp_state *state)
{
  fprintf(out, "glusterish-heal %s\n", GI_VERSION);
}

static void
take_arguments(struct arguments *a, int argc, char **argv)
{
  static const struct argp argp = {
      .options = options,
      .parser = parse,
      .args_doc =
          "VOLUME [info | summary | split-brain | pending | bigger-file FILE | latest-mtime FILE | source-brick HOST:PATH "
          "[FILE]]",
      .doc = "Tells what a replicated volume has to heal, and resolves its split brains. Run by glusterish volume heal.",
  };
  argp_program_version_hook = show_version;
  argp_parse(&argp, argc, argv, 0, NULL, a);
  a->heal->report.command = a->heal->command;
}

static void
open_log(const struct arguments *a)
{
  GI_CLEANUP_FREE char *path =
      a->log_file ? gi_strdup(a->log_file) : gi_asprintf(GI_LOG_DIR "/glfsheal-%s.log", a->heal->volume);
  if (a->no_log || strchr(a->heal->volume, '/') || gi_log_open(path, GI_LOG_INFO, false))
    gi_log_set_level(GI_LOG_NONE); /* no log is no reason not to tell */
}

/* ---- the process ---- */

/* The volume cannot be looked at. */
static int
refuse(struct heal *h, int err, const char *text)
{
  heal_report_begin(&h->report);
  heal_report_end(&h->report, err, text);
  h->ended = true;
  return -err & 0xff;
}

static void
failed(struct fs_process *p, const char *text)
{
  struct heal *h = p->cfg->role->arg;
  GI_CLEANUP_FREE char *why = gi_asprintf("%s: Not able to mount the volume, %s", h->volume, text);
  if (!h->ended)
    h->status = refuse(h, EIO, why);
  p->status = h->status;
}

static int
adapt(struct fs_process *p, struct gi_volfile *vf, struct gi_error *err)
{
  ((struct heal *)p->cfg->role->arg)->process = p;
  return heal_volume_adapt(p, vf, err);
}

static int
run(struct heal *h)
{
  struct fs_role role = {.adapt = adapt, .failed = failed, .arg = h};
  const char *server = h->cli.remote ? h->cli.remote : h->cli.sock;
  struct fs_config cfg = {
      .role = &role,
      .servers = {.item = {server}, .count = 1},
      .server_port = h->cli.remote ? h->cli.remote_port : 0,
      .volfile_id = h->volume,
      .process_name = "glfsheal",
      .no_daemon = true,
  };
  int status = fs_run(&cfg);
  return h->ended ? status : CLI_FAILED; /* interrupted: the output is not complete */
}

int
main(int argc, char **argv)
{
  struct heal h = {.report = {.out = stdout}};
  struct arguments a = {.heal = &h};
  struct gi_error err = {0};
  GI_CLEANUP_FREE char *sock = gi_strdup(GI_RUN_DIR "/glusterishd.socket");
  FILE *nowhere = fopen("/dev/null", "we"); /* what the daemon's silence means is said in the report */
  h.cli = (struct cli){.in = stdin,
                       .out = nowhere,
                       .err = nowhere,
                       .sock = sock,
                       .remote_port = 24007,
                       .timeout_s = 120,
                       .call = cli_call_daemon};
  signal(SIGPIPE, SIG_IGN);
  take_arguments(&a, argc, argv);
  open_log(&a);
  int status = heal_volume_ask(&h, &err) ? refuse(&h, err.code, err.text) : run(&h);
  heal_volume_free(&h);
  if (nowhere)
    fclose(nowhere);
  if (fflush(stdout) || ferror(stdout))
    status = status ? status : CLI_FAILED;
  return status;
}
