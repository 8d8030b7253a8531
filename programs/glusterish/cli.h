/* SPDX-License-Identifier: Apache-2.0
 *
 * The command line tool. A command is a row of the table in words.c; its
 * function turns the words into a request document, has the daemon answer it,
 * and prints the answer as text, XML or JSON in the forms of cli.md.
 *
 *   main.c       global options, interactive mode
 *   words.c      command table, matching of abbreviated words, help
 *   usage.c      complaints and questions of commands
 *   cmd-*.c      one family of commands each: words to request, reply to text
 *   render-*.c   longer outputs
 *   sight.h      what all processes of the node tell, for doctor.h, why.h and rates.h
 *
 * The call to the daemon and the XML envelope are in programs/common.
 */
#ifndef CLI_H
#define CLI_H

#include "programs/common/request.h"
#include "programs/common/size-text.h"
#include "programs/common/xml.h"
#include "libglusterish/error.h"
#include "libglusterish/mem.h"

struct cli_command {
  const char *pattern;     /* usage text; its leading plain words are what is matched */
  const char *description; /* NULL = not in help */
  int (*run)(struct cli *c, const struct cli_command *cmd, int n, char **words); /* exit status */
};

/* ---- words.c ---- */

/* Runs the command in words[0..n). Prints usage when there is none. Returns the exit status. */
int cli_run(struct cli *c, int n, char **words);
void cli_print_usage(struct cli *c); /* the short help of the program, to stdout */
int cli_help_for(struct cli *c, const char *class_, const char *title);

/* ---- usage.c ---- */

/* Usage error: prints the pattern to stderr, returns CLI_FAILED. */
int cli_usage(struct cli *c, const struct cli_command *cmd);
/* A message to stderr, then the usage. */
int cli_bad(struct cli *c, const struct cli_command *cmd, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Is `word` a non-empty prefix of `full`? */
bool cli_prefix(const char *word, const char *full);
/* Asks "question (y/n) " unless in script mode. */
bool cli_confirm(struct cli *c, const char *question);

/* ---- own-options.c: options of one command, which stand after its first word ---- */

/* A flag, or an option with a value: "--name V" or "--name=V". */
struct cli_option {
  const char *name;   /* without the dashes; NULL ends a table */
  const char **value; /* set to the value; NULL: it is a flag */
  bool *flag;         /* set when the option is there; may be NULL beside `value` */
};

/* Does a command that begins with the words have the option `arg`, by its pattern ("[--name ...")? */
bool cli_has_option(int n, char **words, const char *arg);
/* Takes the options of the table out of words[0..*n), which become fewer. False after telling the user what is wrong with them. */
bool cli_take_options(struct cli *c, const struct cli_command *cmd, const struct cli_option *table, int *n, char **words);

/* ---- render-*.c ---- */

void cli_render_info(struct cli *c, const json_t *doc);
void cli_render_info_xml(struct cli *c, const struct cli_reply *reply);
void cli_render_status(struct cli *c, const json_t *doc, const char *what);
void cli_render_status_xml(struct cli *c, const struct cli_reply *reply, const char *what);
bool cli_is_daemon(const json_t *node); /* of a status: a daemon, not a brick */
void cli_render_heal_statistics(struct cli *c, const json_t *doc);
void cli_render_heal_count(struct cli *c, const json_t *doc);
/* cmd-rebalance.c: how far a task is, as a table, or all the answer tells of it as XML; op 0: without. `folded`: what was left out
 * counts as failed. */
void cli_render_progress(struct cli *c, const json_t *doc, bool folded);
void cli_render_task_xml(struct cli *c, const struct cli_reply *reply, const char *element, int op);
/* The forms that bricks fill; false if `what` is none of them. */
bool cli_render_bricks(struct cli *c, const json_t *volume, const char *what);
void cli_render_brick_xml(struct cli_xml *x, const json_t *node, const char *what);

/* ---- cmd-*.c ---- */

typedef int cli_command_fn(struct cli *c, const struct cli_command *cmd, int n, char **words);
cli_command_fn cli_volume_create, cli_volume_start, cli_volume_stop, cli_volume_delete, cli_volume_list, cli_volume_info,
    cli_volume_status, cli_volume_add_brick, cli_volume_remove_brick, cli_volume_replace_brick, cli_volume_reset_brick,
    cli_volume_rebalance, cli_volume_heal, cli_volume_set, cli_volume_reset, cli_volume_get, cli_volume_statedump,
    cli_volume_profile, cli_volume_top, cli_volume_key, cli_volume_clear_locks, cli_get_state, cli_peer_status, cli_peer_probe,
    cli_peer_detach, cli_pool_list, cli_pool_tls, cli_pool_join, cli_pool_token, cli_pool_recover, cli_peer_update,
    cli_node_replace, cli_node_status, cli_pool_upgrade, cli_system_getspec, cli_system_uuid, cli_system_getwd, cli_help,
    cli_volume_help, cli_peer_help, cli_global_help, cli_system_help, cli_trace, cli_doctor, cli_why, cli_stats, cli_top,
    cli_bundle, cli_metrics;

/* ---- groups.c ---- */

char *cli_trimmed(const char *s); /* without white space at both ends; the caller frees it */
/* Appends the keys and values of a group of options; false after saying what is wrong. */
bool cli_group_read(struct cli *c, const char *group, json_t *pairs);
int cli_groups_help(struct cli *c); /* prints all groups */

/* Appends the canonical brick to `bricks`; false after saying what is wrong with it. `duplicate` is the sentence, with one %s, for
 * a brick that is in the list already. */
bool cli_add_brick(struct cli *c, json_t *bricks, const char *word, const char *duplicate)
    __attribute__((format(printf, 4, 0)));
/* Asks whether two copies shall be all, unless forced. */
bool cli_replica_two_is_wanted(struct cli *c, bool force);

#endif
