/* SPDX-License-Identifier: Apache-2.0
 *
 * The commands, and how words find them: each word may be cut to a prefix that
 * is not ambiguous, and an exact word beats prefixes (cli.md 2).
 */
#include "programs/glusterish/cli.h"

#include <string.h>

#define CREATE_PATTERN \
  "volume create <NEW-VOLNAME> [[replica <COUNT> [arbiter <COUNT>]]|[replica 2 thin-arbiter 1]] [disperse [<COUNT>]] " \
  "[disperse-data <COUNT>] [redundancy <COUNT>] [transport <tcp|rdma|tcp,rdma>] {<NEW-BRICK> <TA-BRICK>... | auto [<SETS>]} " \
  "[force]"

#define HEAL_PATTERN \
  "volume heal <VOLNAME> [enable | disable | full |statistics [heal-count [replica <HOSTNAME:BRICKNAME>]] " \
  "|info [summary | split-brain] |split-brain {bigger-file <FILE> | latest-mtime <FILE> " \
  "|source-brick <HOSTNAME:BRICKNAME> [<FILE>]} |granular-entry-heal {enable | disable}]"

#define TOP_PATTERN \
  "volume top <VOLNAME> {open|read|write|opendir|readdir|clear} [nfs|brick <brick>] [list-cnt <value>] | " \
  "{read-perf|write-perf} [bs <size> count <count>] [brick <brick>] [list-cnt <value>]"

#define TRACE_PATTERN \
  "trace <VOLNAME> [--path <PATH>] [--pid <PID>] [--slower-than <TIME>] [--sample <N>] [--hanging] [--count <N>] " \
  "[--seconds <N>] [--perfetto <FILE>] [--otlp <URL|FILE>]"

/* Sorted by pattern: help prints them in this order. */
static const struct cli_command commands[] = {
    {"bundle [<FILE.tar.gz>] [--logs <DIRECTORY>]", "collect what a report needs in one archive, without passwords and keys",
     cli_bundle},
    {"doctor [<VOLNAME>]", "say what is wrong, whose doing it is, and what helps", cli_doctor},
    {"exit", NULL, NULL},
    {"get-state [<daemon>] [[odir </path/to/output/dir/>] [file <filename>]] [detail|volumeoptions]",
     "write the state of the management daemon to a file", cli_get_state},
    {"global help", "list global commands", cli_global_help},
    {"help [all]", NULL, cli_help},
    {"metrics [<VOLNAME>]", "print the metrics of the processes on this machine", cli_metrics},
    {"node replace <OLD-HOSTNAME> <NEW-HOSTNAME> [force]", "have a node take the place of another one, with all its bricks",
     cli_node_replace},
    {"node status", "how far a node is that takes the place of another one", cli_node_status},
    {"peer detach { <HOSTNAME> | <IP-address> } [force]", "detach peer specified by <HOSTNAME>", cli_peer_detach},
    {"peer help", "display help for peer commands", cli_peer_help},
    {"peer probe { <HOSTNAME> | <IP-address> }", "probe peer specified by <HOSTNAME>", cli_peer_probe},
    {"peer status", "list status of peers", cli_peer_status},
    {"peer update <HOSTNAME> <NEW-HOSTNAME> ...", "give a node other addresses, the first is how it is called",
     cli_peer_update},
    {"pool join <TOKEN>@<HOSTNAME> [as <NODE>]",
     "make this node one of the pool that gave the token, or again the one that it was before it lost its files",
     cli_pool_join},
    {"pool list", "list all the nodes in the pool (including localhost)", cli_pool_list},
    {"pool recover [--force-new]", "make the pool's store anew from what this node has, when its majority is lost",
     cli_pool_recover},
    {"pool tls {enable|require|disable|status|rotate [--authority]|client <NAME>|revoke <NAME>}",
     "make, show, renew and take back the certificates of this pool", cli_pool_tls},
    {"pool token", "make a token with which one node can join this pool", cli_pool_token},
    {"pool upgrade {check|finish}", "tell which versions the nodes run, and raise the operating version when all can do it",
     cli_pool_upgrade},
    {"quit", NULL, NULL},
    {"stats [<VOLNAME>] [--interval <SECONDS>] [--count <NUMBER>]", "a line about operations, bytes and errors every second",
     cli_stats},
    {"system:: getspec <VOLNAME>", "print the volfile of a volume", cli_system_getspec},
    {"system:: getwd", "print the daemon's working directory", cli_system_getwd},
    {"system:: help", "display help for system commands", cli_system_help},
    {"system:: uuid get", "print the uuid of this node", cli_system_uuid},
    {"top [<VOLNAME>] [--by {client|file|operation|brick}] [--interval <SECONDS>] [--once]",
     "the busiest clients, files, operations or bricks", cli_top},
    {TRACE_PATTERN, "show what operations do in the mounts of this node and in every brick, step by step", cli_trace},
    {"volume add-brick <VOLNAME> [<replica> <COUNT> [arbiter <COUNT>]] <NEW-BRICK> ... [force]",
     "add brick to volume <VOLNAME>", cli_volume_add_brick},
    {"volume clear-locks <VOLNAME> <path> kind {blocked|granted|all}{inode [range]|entry [basename]|posix [range]}",
     "drop the locks that are held on a path, or that wait", cli_volume_clear_locks},
    {CREATE_PATTERN, "create a new volume from the given bricks", cli_volume_create},
    {"volume delete <VOLNAME>", "delete volume specified by <VOLNAME>", cli_volume_delete},
    {"volume get <VOLNAME|all> <key|all>", "print the value of one option or of all of them", cli_volume_get},
    {HEAL_PATTERN, "heal the replicas of volume <VOLNAME>, or tell what needs it", cli_volume_heal},
    {"volume help", "display help for volume commands", cli_volume_help},
    {"volume info [all|<VOLNAME>]", "list information of all volumes", cli_volume_info},
    {"volume key <VOLNAME> {list|add <NAME> <FILE>|remove <NAME>}",
     "the keys with which clients may mount a volume (auth.client-key)", cli_volume_key},
    {"volume list", "list all volumes in cluster", cli_volume_list},
    {"volume profile <VOLNAME> {start|info [peek|incremental [peek]|cumulative|clear]|stop} [nfs]",
     "count what the bricks do and how long it takes", cli_volume_profile},
    {"volume rebalance <VOLNAME> {{fix-layout start} | {start [force]|stop|status}}",
     "spread the files of a volume over all its bricks", cli_volume_rebalance},
    {"volume remove-brick <VOLNAME> [replica <COUNT>] <BRICK> ... <start|stop|status|commit|force>",
     "remove brick from volume <VOLNAME>", cli_volume_remove_brick},
    {"volume replace-brick <VOLNAME> <SOURCE-BRICK> <NEW-BRICK> {commit force}", "replace a brick by a new, empty one",
     cli_volume_replace_brick},
    {"volume reset <VOLNAME> [option] [force]", "set one option, or all, back to the default", cli_volume_reset},
    {"volume reset-brick <VOLNAME> <SOURCE-BRICK> {{start} | {<NEW-BRICK> commit}}",
     "stop a brick, and start it again on emptied storage", cli_volume_reset_brick},
    {"volume set <VOLNAME> <KEY> <VALUE>", "set options for volume <VOLNAME>", cli_volume_set},
    {"volume set <VOLNAME> group <GROUP>", "set all options of a group; \"volume set help group\" lists the groups",
     cli_volume_set},
    {"volume start <VOLNAME> [force]", "start volume specified by <VOLNAME>", cli_volume_start},
    {"volume statedump <VOLNAME> [[nfs|quotad] [all|mem|iobuf|callpool|priv|fd|inode|history]... | "
     "[client <hostname:process-id>]]",
     "have the bricks write down their state", cli_volume_statedump},
    {"volume status [all | <VOLNAME> [nfs|shd|<BRICK>|quotad]] [detail|clients|mem|inode|fd|callpool|tasks|client-list]",
     "display status of all or specified volume(s)/brick", cli_volume_status},
    {"volume stop <VOLNAME> [force]", "stop volume specified by <VOLNAME>", cli_volume_stop},
    {TOP_PATTERN, "list the busiest files of each brick", cli_volume_top},
    {"why { <PATH> | <VOLNAME> <PATH> }", "all that is known of a file or directory, and what keeps it waiting", cli_why},
};

/* ---- patterns ---- */

/* The i-th plain word of a pattern: its start and length; false where placeholders begin or it ends. */
static bool
literal(const char *pattern, int i, const char **start, size_t *len)
{
  for (;; i--) {
    *len = strcspn(pattern, " ");
    if (*len == 0 || strchr("<[{", *pattern))
      return false;
    if (i == 0) {
      *start = pattern;
      return true;
    }
    pattern += *len;
    pattern += *pattern == ' ';
  }
}

static bool
literal_is(const char *pattern, int i, const char *word, bool exact)
{
  const char *start;
  size_t len, n = strlen(word);
  if (!literal(pattern, i, &start, &len))
    return false;
  return n > 0 && (exact ? n == len : n <= len) && strncmp(word, start, n) == 0;
}

static bool
same_literal(const char *a, const char *b, int i)
{
  const char *sa, *sb;
  size_t la, lb;
  return literal(a, i, &sa, &la) && literal(b, i, &sb, &lb) && la == lb && strncmp(sa, sb, la) == 0;
}

/* Narrows `alive` to the commands whose i-th literal is `word`. False if none, or if a prefix is ambiguous. */
static bool
narrow(bool *alive, int i, const char *word)
{
  bool exact = false, ambiguous = false;
  const struct cli_command *first = NULL;
  for (size_t k = 0; k < GI_ARRAY_LEN(commands); k++)
    exact = exact || (alive[k] && literal_is(commands[k].pattern, i, word, true));
  for (size_t k = 0; k < GI_ARRAY_LEN(commands); k++) {
    if (!alive[k] || !literal_is(commands[k].pattern, i, word, exact))
      continue;
    ambiguous = ambiguous || (first && !same_literal(first->pattern, commands[k].pattern, i));
    first = first ? first : &commands[k];
  }
  if (!first || ambiguous)
    return false;
  for (size_t k = 0; k < GI_ARRAY_LEN(commands); k++)
    alive[k] = alive[k] && same_literal(first->pattern, commands[k].pattern, i);
  return true;
}

/* A command all of whose literals are used up after i words. */
static const struct cli_command *
complete(const bool *alive, int i)
{
  const char *start;
  size_t len;
  for (size_t k = 0; k < GI_ARRAY_LEN(commands); k++)
    if (alive[k] && !literal(commands[k].pattern, i, &start, &len))
      return &commands[k];
  return NULL;
}

/* Does the pattern show the option "--name", `len` bytes of it? */
static bool
pattern_has(const char *pattern, const char *option, size_t len)
{
  for (const char *p = pattern; (p = strstr(p, "[--")); p++)
    if (strncmp(p + 1, option, len) == 0 && strchr("= ]|", p[1 + len]))
      return true;
  return false;
}

bool
cli_has_option(int n, char **words, const char *arg)
{
  for (size_t k = 0; n > 0 && k < GI_ARRAY_LEN(commands); k++)
    if (literal_is(commands[k].pattern, 0, words[0], false) && pattern_has(commands[k].pattern, arg, strcspn(arg, "=")))
      return true;
  return false;
}

/* An answer of which a part is missing is no success, whatever else was said. */
static int
whole(struct cli *c, int status)
{
  bool partial = c->partial;
  c->partial = false;
  return status == CLI_OK && partial ? CLI_FAILED : status;
}

int
cli_run(struct cli *c, int n, char **words)
{
  bool alive[GI_ARRAY_LEN(commands)];
  int i = 0;
  memset(alive, true, sizeof(alive));
  while (i < n && narrow(alive, i, words[i]))
    i++;
  const struct cli_command *cmd = i > 0 ? complete(alive, i) : NULL;
  if (cmd && cmd->run)
    return whole(c, cmd->run(c, cmd, n, words));
  if (i < n)
    fprintf(c->out, "unrecognized word: %s (position %d)\n\n", words[i], i);
  else
    fprintf(c->out, "unrecognized command\n\n");
  cli_print_usage(c);
  return CLI_FAILED;
}

/* ---- usage and help ---- */

void
cli_print_usage(struct cli *c)
{
  fputs(" Usage: gluster [options] <help> <peer> <pool> <volume>\n"
        " Options:\n"
        " --help  Shows the help information\n"
        " --version  Shows the version\n"
        " --print-logdir  Shows the log directory\n"
        " --print-statedumpdir Shows the state dump directory\n\n",
        c->out);
}

/* Of one word, and of no family. */
static bool
is_single(const char *pattern)
{
  const char *start;
  size_t len;
  return !literal(pattern, 1, &start, &len);
}

int
cli_help_for(struct cli *c, const char *class_, const char *title)
{
  size_t len = strlen(class_);
  fprintf(c->out, "\ngluster %s commands\n", title);
  for (size_t i = 0; i < strlen(title) + 18; i++)
    fputc('=', c->out);
  fputs("\n\n", c->out);
  for (size_t k = 0; k < GI_ARRAY_LEN(commands); k++) {
    const struct cli_command *cmd = &commands[k];
    bool pool =
        strcmp(class_, "peer") == 0 && (strncmp(cmd->pattern, "pool ", 5) == 0 || strncmp(cmd->pattern, "node ", 5) == 0);
    bool single = strcmp(class_, "global") == 0 && is_single(cmd->pattern);
    if (cmd->description && (pool || single || (strncmp(cmd->pattern, class_, len) == 0 && cmd->pattern[len] == ' ')))
      fprintf(c->out, "%s - %s\n", cmd->pattern, cmd->description);
  }
  fputs("\n\n", c->out);
  return CLI_OK;
}

int
cli_volume_help(struct cli *c, const struct cli_command *cmd, int n, char **words)
{
  return cli_help_for(c, "volume", "volume");
}

int
cli_peer_help(struct cli *c, const struct cli_command *cmd, int n, char **words)
{
  return cli_help_for(c, "peer", "peer");
}

int
cli_global_help(struct cli *c, const struct cli_command *cmd, int n, char **words)
{
  return cli_help_for(c, "global", "global");
}

int
cli_system_help(struct cli *c, const struct cli_command *cmd, int n, char **words)
{
  return cli_help_for(c, "system::", "system::");
}

int
cli_help(struct cli *c, const struct cli_command *cmd, int n, char **words)
{
  if (n > 1 && strcmp(words[1], "all") == 0) {
    cli_help_for(c, "volume", "volume");
    cli_help_for(c, "peer", "peer");
    return cli_help_for(c, "global", "global");
  }
  fprintf(c->out, " %-24s - %s\n", "peer help", "display help for peer commands");
  fprintf(c->out, " %-24s - %s\n", "volume help", "display help for volume commands");
  fprintf(c->out, " %-24s - %s\n\n\n", "global help", "list global commands");
  return CLI_OK;
}
