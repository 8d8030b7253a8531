/* SPDX-License-Identifier: Apache-2.0
 *
 * Global options, which may stand anywhere on the line, and the interactive
 * mode (cli.md 1). What is an option of the command alone is left to it.
 */
#include "programs/glusterish/cli.h"
#include "libglusterish/log.h"
#include "libglusterish/options.h"
#include "libglusterish/priority.h"

#include <ctype.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define GLUSTERD_PORT 24007
#define TIMEOUT_S 120
#define WORDS_MAX 4200 /* of one line of the interactive mode */
#define LINE_MAX_BYTES 65536

enum { OPT_UNKNOWN = -1, OPT_TAKEN = 0, OPT_EXIT = 1 };

/* The value of --name=value; NULL if the argument is another option. */
static const char *
value_of(const char *arg, const char *name)
{
  size_t len = strlen(name);
  return strncmp(arg, name, len) == 0 && arg[len] == '=' ? arg + len + 1 : NULL;
}

static void
keep(char **where, const char *value)
{
  gi_free(*where);
  *where = gi_strdup(value);
}

static int
version(struct cli *c)
{
  fprintf(c->out, "glusterfs 10.3\nglusterish " GI_VERSION
                  ", speaks the protocols and keeps the formats of the version above.\nApache License 2.0, no warranty.\n");
  return OPT_EXIT;
}

/* The options without a value. */
static int
take_flag(struct cli *c, const char *arg, int *status)
{
  *status = CLI_OK;
  if (strcmp(arg, "--mode=script") == 0) {
    c->script = true;
  } else if (strcmp(arg, "--xml") == 0) {
    c->xml = true;
  } else if (strcmp(arg, "--json") == 0) {
    c->json = true;
  } else if (strcmp(arg, "--nolog") == 0) {
    c->no_log = true;
  } else if (strcmp(arg, "--wignore") == 0) {
    c->wignore = true;
  } else if (strcmp(arg, "--version") == 0) {
    return version(c);
  } else if (strcmp(arg, "--help") == 0) {
    *status = cli_help(c, NULL, 1, NULL);
    return OPT_EXIT;
  } else if (strcmp(arg, "--print-logdir") == 0) {
    fprintf(c->out, "%s\n", GI_LOG_DIR);
    return OPT_EXIT;
  } else if (strcmp(arg, "--print-statedumpdir") == 0) {
    fprintf(c->out, "%s\n", GI_RUN_DIR);
    return OPT_EXIT;
  } else if (strcmp(arg, "--mode=interactive") && strcmp(arg, "--wignore-partition") && strcmp(arg, "--inet6")) {
    return OPT_UNKNOWN;
  }
  return OPT_TAKEN;
}

static int
take_option(struct cli *c, const char *arg, int *status)
{
  const char *value;
  int64_t seconds;
  enum gi_log_level level;
  if ((value = value_of(arg, "--glusterd-sock"))) {
    keep(&c->sock, value);
    keep(&c->remote, NULL);
  } else if ((value = value_of(arg, "--remote-host"))) {
    keep(&c->remote, value);
  } else if ((value = value_of(arg, "--log-file"))) {
    keep(&c->log_file, value);
  } else if ((value = value_of(arg, "--log-level"))) {
    if (!gi_log_level_parse(value, &level))
      return OPT_UNKNOWN;
    c->level = level;
  } else if ((value = value_of(arg, "--timeout"))) {
    if (!gi_parse_int(value, &seconds) || seconds <= 0 || seconds > 86400) {
      fprintf(c->err, "timeout value should be a positive integer\n");
      *status = 254;
      return OPT_EXIT;
    }
    c->timeout_s = (int)seconds;
  } else if (!value_of(arg, "--secure-mgmt")) {
    return take_flag(c, arg, status);
  }
  return OPT_TAKEN;
}

/* Takes the options out of argv; what is left are the words. Returns how many, or -1 with the exit status. */
static int
take_options(struct cli *c, int argc, char **argv, int *status)
{
  int n = 0;
  bool options = true, sock_given = false;
  for (int i = 1; i < argc; i++) {
    if (!options || strncmp(argv[i], "--", 2) != 0) {
      argv[n++] = argv[i];
      continue;
    }
    if (strcmp(argv[i], "--") == 0) {
      options = false;
      continue;
    }
    sock_given = sock_given || value_of(argv[i], "--glusterd-sock");
    int took = take_option(c, argv[i], status);
    if (took == OPT_UNKNOWN && cli_has_option(n, argv, argv[i])) {
      argv[n++] = argv[i];
      continue;
    }
    if (took == OPT_EXIT)
      return -1;
    if (took == OPT_UNKNOWN) {
      fprintf(c->out, "unrecognized option %s\n\n", argv[i]);
      cli_print_usage(c);
      *status = 255;
      return -1;
    }
  }
  if (sock_given) /* it wins over --remote-host, wherever either stands */
    keep(&c->remote, NULL);
  return n;
}

/* Splits on blanks in place; no quoting. */
static int
split(char *line, char **words)
{
  int n = 0;
  for (char *save = NULL, *w = strtok_r(line, " \t\r\n", &save); w && n < WORDS_MAX; w = strtok_r(NULL, " \t\r\n", &save))
    words[n++] = w;
  return n;
}

static int
interactive(struct cli *c)
{
  bool tty = isatty(fileno(c->in));
  GI_CLEANUP_FREE char *line = gi_alloc(LINE_MAX_BYTES);
  GI_CLEANUP_FREE char **words = gi_alloc(WORDS_MAX * sizeof(*words));
  fprintf(c->err, "Welcome to gluster prompt, type 'help' to see the available commands.\n");
  if (!tty)
    c->script = true;
  for (;;) {
    if (tty)
      fprintf(c->out, "gluster> ");
    fflush(c->out);
    if (!fgets(line, LINE_MAX_BYTES, c->in))
      return CLI_OK;
    int n = split(line, words);
    if (n == 0)
      continue;
    if (strcmp(words[0], "quit") == 0 || strcmp(words[0], "exit") == 0)
      return CLI_OK;
    int status = cli_run(c, n, words);
    if (status && !tty)
      return status;
  }
}

static void
open_log(const struct cli *c)
{
  /* No log is no reason not to work: most people who run this are not root. */
  if (gi_log_open(c->log_file ? c->log_file : GI_LOG_DIR "/cli.log", c->level, false))
    gi_log_set_level(GI_LOG_NONE);
}

int
main(int argc, char **argv)
{
  gi_be_patient(true); /* whoever runs the tool would feel it otherwise (doc/decisions/0007) */
  struct cli c = {.in = stdin,
                  .out = stdout,
                  .err = stderr,
                  .remote_port = GLUSTERD_PORT,
                  .timeout_s = TIMEOUT_S,
                  .level = GI_LOG_INFO,
                  .call = cli_call_daemon};
  int status = CLI_OK;
  signal(SIGPIPE, SIG_IGN);
  c.sock = gi_strdup(GI_RUN_DIR "/glusterishd.socket");
  int n = take_options(&c, argc, argv, &status);
  if (n >= 0) {
    open_log(&c);
    status = n == 0 ? interactive(&c) : cli_run(&c, n, argv);
  }
  gi_free(c.sock);
  gi_free(c.remote);
  gi_free(c.log_file);
  if (fflush(stdout) || ferror(stdout))
    status = status ? status : CLI_FAILED;
  return status;
}
