/* SPDX-License-Identifier: Apache-2.0
 *
 * A program's question to the management daemon: a JSON document, answered by
 * another one.
 */
#ifndef PROG_REQUEST_H
#define PROG_REQUEST_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

struct cli;

struct cli_reply {
  int ret;     /* 0 or -1 (op_ret) */
  int err;     /* op_errno */
  char *text;  /* op_errstr, never NULL */
  json_t *doc; /* an object */
};

struct cli {
  FILE *in, *out, *err;
  bool script, xml, json, wignore;
  bool partial;        /* some node did not answer, and that was said */
  char *sock, *remote; /* unix socket; host to talk to instead */
  int remote_port;
  int timeout_s;
  char *log_file;
  bool no_log; /* --nolog */
  int level;   /* enum gi_log_level */
  /* Sends `request` (consumed) for procedure `proc` and fills *reply. -1 after telling the user when no answer came. */
  int (*call)(struct cli *c, unsigned proc, json_t *request, struct cli_reply *reply);
  void *arg; /* of `call`, for tests */
};

enum { CLI_OK = 0, CLI_FAILED = 1 };

int cli_call_daemon(struct cli *c, unsigned proc, json_t *request, struct cli_reply *reply);
void cli_reply_clear(struct cli_reply *reply);
/* A request document: "command", "words" (what was typed) and, unless NULL, "volume". */
json_t *cli_request(const char *command, const char *volume, int n, char **words);
/* Calls and, with --json, prints the answer. Returns -1 when all is said and *status holds the exit status. */
int cli_ask(struct cli *c, unsigned proc, json_t *request, struct cli_reply *reply, int *status);
void cli_print_json(struct cli *c, const struct cli_reply *reply); /* the answer as --json has it */

/* Members of a reply: "" / 0 / false when absent. */
const char *cli_str(const json_t *doc, const char *member);
long long cli_int(const json_t *doc, const char *member);
bool cli_true(const json_t *doc, const char *member);

#endif
