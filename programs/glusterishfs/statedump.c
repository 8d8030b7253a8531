/* SPDX-License-Identifier: Apache-2.0
 *
 * State dumps: on USR1 everything the process knows of itself goes to a file,
 * in the form support tools read (volfile.md 12).
 */
#include "programs/glusterishfs/glusterishfs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* what `volume statedump` can ask for; of history there is none */
enum {
  PART_MEM = 1,
  PART_IOBUF = 2,
  PART_CALLPOOL = 4,
  PART_PRIV = 8,
  PART_FD = 16,
  PART_INODE = 32,
  PART_ALL = 63,
};

/* Where: the command line, the environment, the brick's option, the place of installation. */
static const char *
dump_dir(const struct fs_process *p)
{
  const char *env = getenv("GLUSTERISH_STATEDUMP_DIR"), *option = NULL;
  if (p->cfg->statedump_dir)
    return p->cfg->statedump_dir;
  if (env && env[0])
    return env;
  if (p->ctx.graph)
    option = gi_xlator_option(p->ctx.graph->top, "statedump-path");
  return option ? option : GI_RUN_DIR;
}

static void
dump_name(const struct fs_process *p, char *buf, size_t size, int64_t now)
{
  char who[512] = "glusterdump";
  if (p->cfg->brick_name) {
    const char *brick = p->cfg->brick_name;
    snprintf(who, sizeof(who), "%s", brick + (brick[0] == '/'));
    for (char *c = who; *c; c++)
      if (*c == '/')
        *c = '-';
  }
  snprintf(buf, size, "%s/%s.%d.dump.%lld", dump_dir(p), who, (int)getpid(), (long long)now);
}

static void
stamp(FILE *out, const char *what, struct gi_time now)
{
  char text[64];
  struct tm tm;
  time_t sec = now.sec;
  strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", gmtime_r(&sec, &tm));
  fprintf(out, "%s: %s.%06u +0000\n", what, text, now.nsec / 1000);
}

static void
dump_process(struct fs_process *p, struct gi_dump *d)
{
  gi_dump_section(d, "global");
  gi_dump_kv(d, "process-name", "%s", p->ctx.process_name);
  gi_dump_kv(d, "version", "%s", GI_VERSION);
  gi_dump_kv(d, "volfile-id", "%s", p->ctx.volfile_id ? p->ctx.volfile_id : "");
  gi_dump_kv(d, "recv_calls", "%llu", (unsigned long long)gi_conn_totals.recv_calls);
  gi_dump_kv(d, "send_calls", "%llu", (unsigned long long)gi_conn_totals.send_calls);
  gi_dump_kv(d, "messages", "%llu", (unsigned long long)gi_conn_totals.messages);
  gi_dump_kv(d, "payload_bytes", "%llu", (unsigned long long)gi_conn_totals.payload_bytes);
  gi_dump_kv(d, "payload_bytes_copied", "%llu", (unsigned long long)gi_payload_copied);
}

/* Without the translators' own: what is open and under way, and of the one that knows most of it. */
static void
dump_tables(struct gi_graph *g, unsigned parts, struct gi_dump *d)
{
  gi_dump_section(d, "active graph - 1");
  if (parts & PART_CALLPOOL)
    gi_dump_kv(d, "fops_live", "%llu", (unsigned long long)g->fops_live);
  if (parts & PART_INODE)
    gi_dump_kv(d, "inodes_live", "%llu", (unsigned long long)g->inodes_live);
  if (parts & PART_FD)
    gi_dump_kv(d, "fds_live", "%llu", (unsigned long long)g->fds_live);
  for (unsigned i = g->count; i-- > 0;) {
    struct gi_xlator *x = g->xlators[i];
    bool wanted = (parts & PART_FD && strcmp(x->cls->type, "protocol/server") == 0) ||
                  (parts & PART_INODE && strcmp(x->cls->type, "features/locks") == 0);
    if (wanted && x->cls->statedump)
      x->cls->statedump(x, d);
  }
}

static void
dump_parts(struct fs_process *p, FILE *out, unsigned parts)
{
  struct gi_dump d = {.out = out};
  stamp(out, "DUMP-START-TIME", gi_wall(p->reactor));
  dump_process(p, &d);
  if (parts & (PART_MEM | PART_IOBUF))
    gi_dump_memory(&d);
  if (parts & PART_MEM)
    gi_budget_dump(&p->ctx.budget, &d);
  if (p->ctx.graph && parts & PART_PRIV)
    gi_graph_statedump(p->ctx.graph, &d);
  else if (p->ctx.graph && parts & (PART_CALLPOOL | PART_FD | PART_INODE))
    dump_tables(p->ctx.graph, parts, &d);
  stamp(out, "\nDUMP-END-TIME", gi_wall(p->reactor));
}

/* The parts that were asked for in a file beside the dumps, which is used up by that; no file: all of them. */
static unsigned
wanted_parts(const struct fs_process *p)
{
  static const struct {
    const char *line;
    unsigned parts;
  } words[] = {
      {"all=yes", PART_ALL},        {"mem=yes", PART_MEM}, {"iobuf=yes", PART_IOBUF}, {"callpool=yes", PART_CALLPOOL},
      {"priv=yes", PART_PRIV},      {"fd=yes", PART_FD},   {"fdctx=yes", PART_FD},    {"inode=yes", PART_INODE},
      {"inodectx=yes", PART_INODE}, {"history=yes", 0},
  };
  char path[1024], line[64];
  unsigned parts = 0;
  bool any = false;
  snprintf(path, sizeof(path), "%s/glusterdump.%d.options", dump_dir(p), (int)getpid());
  FILE *in = fopen(path, "re");
  if (!in)
    return PART_ALL;
  while (fgets(line, sizeof(line), in)) {
    line[strcspn(line, "\r\n")] = '\0';
    for (size_t i = 0; i < GI_ARRAY_LEN(words); i++) {
      bool is = strcmp(line, words[i].line) == 0;
      any = any || is;
      parts |= is ? words[i].parts : 0;
    }
  }
  fclose(in);
  unlink(path);
  return any ? parts : PART_ALL;
}

void
fs_statedump_write(struct fs_process *p, FILE *out)
{
  dump_parts(p, out, PART_ALL);
}

void
fs_statedump(struct fs_process *p)
{
  char path[1024];
  struct gi_time now = gi_wall(p->reactor);
  dump_name(p, path, sizeof(path), now.sec);
  mkdir(dump_dir(p), 0755);
  FILE *out = fopen(path, "we");
  if (!out) {
    gi_log(GI_LOG_ERROR, "glusterishfs", GI_MSG_CLI + 2, "state dump %s: %s", path, strerror(errno));
    return;
  }
  if (fchmod(fileno(out), 0600) < 0)
    gi_log(GI_LOG_WARNING, "glusterishfs", GI_MSG_CLI + 2, "state dump %s: %s", path, strerror(errno));
  dump_parts(p, out, wanted_parts(p));
  if (fclose(out) != 0)
    gi_log(GI_LOG_ERROR, "glusterishfs", GI_MSG_CLI + 2, "state dump %s: %s", path, strerror(errno));
  else
    gi_log(GI_LOG_INFO, "glusterishfs", GI_MSG_CLI + 3, "state dump written to %s", path);
}
