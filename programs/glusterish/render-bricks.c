/* SPDX-License-Identifier: Apache-2.0
 *
 * volume status clients, client-list, mem, inode, fd and callpool (cli.md
 * 5.6): what the bricks themselves said. Their facts arrive under the keys of
 * mgmt-protocol.md 5.3.
 */
#include "programs/glusterish/cli.h"

#include <string.h>

#define DASHES "----------------------------------------------"
#define ROWS_MAX 100000 /* of one table: a count that a brick tells */

static const char *const malloc_facts[][2] = {
    {"Arena", "arena"},       {"Ordblks", "ordblks"},   {"Smblks", "smblks"},   {"Hblks", "hblks"},
    {"Hblkhd", "hblkhd"},     {"Usmblks", "usmblks"},   {"Fsmblks", "fsmblks"}, {"Uordblks", "uordblks"},
    {"Fordblks", "fordblks"}, {"Keepcost", "keepcost"},
};

static const char *
fact(const json_t *node, const char *fmt, unsigned i, const char *member)
{
  char key[128];
  snprintf(key, sizeof(key), fmt, i, member);
  return cli_str(json_object_get(node, "facts"), key);
}

static const char *
malloc_fact(const json_t *node, const char *member)
{
  char key[64];
  snprintf(key, sizeof(key), "mallinfo.%s", member);
  return cli_str(json_object_get(node, "facts"), key);
}

static unsigned
count(const json_t *node, const char *key)
{
  unsigned long n = strtoul(cli_str(json_object_get(node, "facts"), key), NULL, 10);
  return n > ROWS_MAX ? ROWS_MAX : (unsigned)n;
}

/* ---- text ---- */

static void
render_clients(struct cli *c, const json_t *n)
{
  unsigned clients = count(n, "clientcount");
  fprintf(c->out, "Clients connected : %u\n", clients);
  fprintf(c->out, "%-48s %15s %15s %15s\n", "Hostname", "BytesRead", "BytesWritten", "OpVersion");
  fprintf(c->out, "%-48s %15s %15s %15s\n", "--------", "---------", "------------", "---------");
  for (unsigned i = 0; i < clients; i++)
    fprintf(c->out, "%-48s %15s %15s %15s\n", fact(n, "client%u.%s", i, "hostname"), fact(n, "client%u.%s", i, "bytesread"),
            fact(n, "client%u.%s", i, "byteswrite"), fact(n, "client%u.%s", i, "opversion"));
}

static void
render_mem(struct cli *c, const json_t *n)
{
  fprintf(c->out, "Mallinfo\n--------\n");
  for (size_t i = 0; i < GI_ARRAY_LEN(malloc_facts); i++)
    fprintf(c->out, "%-8s : %s\n", malloc_facts[i][0], malloc_fact(n, malloc_facts[i][1]));
  fprintf(c->out, " \n");
}

static void
render_inode(struct cli *c, const json_t *n)
{
  static const char *const facts[][2] = {{"LRU limit     ", "lru_limit"},
                                         {"Active Inodes ", "active_size"},
                                         {"LRU Inodes    ", "lru_size"},
                                         {"Purge Inodes  ", "purge_size"}};
  for (unsigned i = 0; i < count(n, "conncount"); i++) {
    fprintf(c->out, "Connection %u:\n", i + 1);
    for (size_t k = 0; k < GI_ARRAY_LEN(facts); k++)
      fprintf(c->out, "%s: %s\n", facts[k][0], fact(n, "conn%u.itable.%s", i, facts[k][1]));
    fprintf(c->out, " \n");
  }
}

/* What the table of connection `i` says of its descriptor `k`. */
static const char *
fd_fact(const json_t *node, unsigned i, unsigned k, const char *member)
{
  char key[128];
  snprintf(key, sizeof(key), "conn%u.fdtable.fdentry%u.%s", i, k, member);
  return cli_str(json_object_get(node, "facts"), key);
}

static void
render_fds(struct cli *c, const json_t *n, unsigned i)
{
  if (!*fd_fact(n, i, 0, "number")) {
    fprintf(c->err, "No open fds\n");
    return;
  }
  fprintf(c->out, "%-19s %-19s %-19s %-19s\n", "FD Entry", "PID", "RefCount", "Flags");
  fprintf(c->out, "%-19s %-19s %-19s %-19s\n", "--------", "---", "--------", "-----");
  for (unsigned k = 0; *fd_fact(n, i, k, "number"); k++)
    fprintf(c->out, "%-19s %-19s %-19s %-19s\n", fd_fact(n, i, k, "number"), fd_fact(n, i, k, "pid"),
            fd_fact(n, i, k, "refcount"), fd_fact(n, i, k, "flags"));
  fprintf(c->out, " \n");
}

static void
render_fd(struct cli *c, const json_t *n)
{
  for (unsigned i = 0; i < count(n, "conncount"); i++) {
    fprintf(c->out, "Connection %u:\nRefCount = %s  MaxFDs = %s  FirstFree = %s\n", i + 1,
            fact(n, "conn%u.fdtable.%s", i, "refcount"), fact(n, "conn%u.fdtable.%s", i, "maxfds"),
            fact(n, "conn%u.fdtable.%s", i, "firstfree"));
    render_fds(c, n, i);
  }
}

/* The translator that is frame `k` of the operation `i`; "" behind the last. */
static const char *
frame_fact(const json_t *node, unsigned i, unsigned k)
{
  char key[64];
  snprintf(key, sizeof(key), "callpool.stack%u.frame%u.translator", i, k);
  return cli_str(json_object_get(node, "facts"), key);
}

static void
render_callpool(struct cli *c, const json_t *n)
{
  static const char *const facts[][2] = {
      {"UID    ", "uid"}, {"GID    ", "gid"}, {"PID    ", "pid"}, {"Unique ", "unique"}, {"Frames ", "count"}};
  fprintf(c->out, "Pending calls: %u\n", count(n, "callpool.count"));
  for (unsigned i = 0; *fact(n, "callpool.stack%u.%s", i, "uid"); i++) {
    fprintf(c->out, "Call Stack%u\n", i + 1);
    for (size_t k = 0; k < GI_ARRAY_LEN(facts); k++)
      fprintf(c->out, " %s: %s\n", facts[k][0], fact(n, "callpool.stack%u.%s", i, facts[k][1]));
    for (unsigned k = 1; *frame_fact(n, i, k); k++)
      fprintf(c->out, " Frame %u\n  Translator = %s\n", k, frame_fact(n, i, k));
    fprintf(c->out, " \n");
  }
}

static const struct {
  const char *what, *title, *end;
  void (*render)(struct cli *c, const json_t *node);
} forms[] = {
    {"clients", "Client connections for volume %s\n", "\n", render_clients},
    {"mem", "Memory status for volume : %s\n", "\n", render_mem},
    {"inode", "Inode tables for volume %s\n", "", render_inode},
    {"fd", "FD tables for volume %s\n", "", render_fd},
    {"callpool", "Pending calls for volume %s\n", "", render_callpool},
};

/* How often each kind of client is connected: of the brick that most are connected to. */
static void
render_client_list(struct cli *c, const json_t *v)
{
  const json_t *nodes = json_object_get(v, "nodes"), *best = NULL;
  json_t *kinds = json_object();
  const char *kind;
  json_t *number;
  for (size_t i = 0; i < json_array_size(nodes); i++)
    if (!best || count(json_array_get(nodes, i), "clientcount") > count(best, "clientcount"))
      best = json_array_get(nodes, i);
  unsigned clients = best ? count(best, "clientcount") : 0;
  for (unsigned i = 0; i < clients; i++) {
    const char *name = fact(best, "client%u.%s", i, "name");
    json_object_set_new(kinds, *name ? name : "unknown", json_integer(cli_int(kinds, *name ? name : "unknown") + 1));
  }
  fprintf(c->out, "Client connections for volume %s\n%-48s %15s\n%-48s %15s\n", cli_str(v, "name"), "Name", "count", "-----",
          "------");
  json_object_foreach(kinds, kind, number) fprintf(c->out, "%-48s %15lld\n", kind, (long long)json_integer_value(number));
  fprintf(c->out, "\ntotal clients for volume %s : %u \n", cli_str(v, "name"), clients);
  fprintf(c->out, "-----------------------------------------------------------------\n\n");
  json_decref(kinds);
}

bool
cli_render_bricks(struct cli *c, const json_t *v, const char *what)
{
  const json_t *nodes = json_object_get(v, "nodes");
  if (what && strcmp(what, "client-list") == 0) {
    render_client_list(c, v);
    return true;
  }
  for (size_t f = 0; what && f < GI_ARRAY_LEN(forms); f++) {
    if (strcmp(what, forms[f].what) != 0)
      continue;
    fprintf(c->out, forms[f].title, cli_str(v, "name"));
    for (size_t i = 0; i < json_array_size(nodes); i++) {
      const json_t *n = json_array_get(nodes, i);
      if (cli_is_daemon(n))
        fprintf(c->out, DASHES "\n%s : %s\n", cli_str(n, "hostname"), cli_str(n, "peerid"));
      else
        fprintf(c->out, DASHES "\nBrick : %s:%s\n", cli_str(n, "hostname"), cli_str(n, "path"));
      if (cli_true(n, "online"))
        forms[f].render(c, n);
      else
        fprintf(c->out, "%s is offline\n", cli_is_daemon(n) ? cli_str(n, "hostname") : "Brick");
    }
    fprintf(c->out, DASHES "\n%s", forms[f].end);
    return true;
  }
  return false;
}

/* ---- XML ---- */

static void
clients_xml(struct cli_xml *x, const json_t *n)
{
  unsigned clients = count(n, "clientcount");
  cli_xml_open(x, "clientsStatus");
  cli_xml_int(x, "clientCount", clients);
  for (unsigned i = 0; i < clients; i++) {
    cli_xml_open(x, "client");
    cli_xml_text(x, "hostname", fact(n, "client%u.%s", i, "hostname"));
    cli_xml_text(x, "bytesRead", fact(n, "client%u.%s", i, "bytesread"));
    cli_xml_text(x, "bytesWrite", fact(n, "client%u.%s", i, "byteswrite"));
    cli_xml_text(x, "opVersion", fact(n, "client%u.%s", i, "opversion"));
    cli_xml_close(x);
  }
  cli_xml_close(x);
}

static void
inodes_xml(struct cli_xml *x, const json_t *n)
{
  cli_xml_open(x, "inodeStatus");
  cli_xml_int(x, "connections", count(n, "conncount"));
  for (unsigned i = 0; i < count(n, "conncount"); i++) {
    cli_xml_open(x, "connection");
    cli_xml_text(x, "activeSize", fact(n, "conn%u.itable.%s", i, "active_size"));
    cli_xml_text(x, "lruSize", fact(n, "conn%u.itable.%s", i, "lru_size"));
    cli_xml_text(x, "purgeSize", fact(n, "conn%u.itable.%s", i, "purge_size"));
    cli_xml_close(x);
  }
  cli_xml_close(x);
}

static void
fds_xml(struct cli_xml *x, const json_t *n)
{
  cli_xml_open(x, "fdStatus");
  cli_xml_int(x, "connections", count(n, "conncount"));
  for (unsigned i = 0; i < count(n, "conncount"); i++) {
    cli_xml_open(x, "connection");
    cli_xml_open(x, "fdTable");
    cli_xml_text(x, "refCount", fact(n, "conn%u.fdtable.%s", i, "refcount"));
    cli_xml_text(x, "maxFds", fact(n, "conn%u.fdtable.%s", i, "maxfds"));
    cli_xml_text(x, "firstFree", fact(n, "conn%u.fdtable.%s", i, "firstfree"));
    for (unsigned k = 0; *fd_fact(n, i, k, "number"); k++) {
      cli_xml_open(x, "fd");
      cli_xml_text(x, "entry", fd_fact(n, i, k, "number"));
      cli_xml_text(x, "pid", fd_fact(n, i, k, "pid"));
      cli_xml_text(x, "refCount", fd_fact(n, i, k, "refcount"));
      cli_xml_text(x, "flags", fd_fact(n, i, k, "flags"));
      cli_xml_close(x);
    }
    cli_xml_close(x);
    cli_xml_close(x);
  }
  cli_xml_close(x);
}

static void
callpool_xml(struct cli_xml *x, const json_t *n)
{
  cli_xml_open(x, "callpoolStatus");
  cli_xml_int(x, "count", count(n, "callpool.count"));
  for (unsigned i = 0; *fact(n, "callpool.stack%u.%s", i, "uid"); i++) {
    cli_xml_open(x, "callStack");
    cli_xml_text(x, "uid", fact(n, "callpool.stack%u.%s", i, "uid"));
    cli_xml_text(x, "gid", fact(n, "callpool.stack%u.%s", i, "gid"));
    cli_xml_text(x, "pid", fact(n, "callpool.stack%u.%s", i, "pid"));
    cli_xml_text(x, "unique", fact(n, "callpool.stack%u.%s", i, "unique"));
    cli_xml_text(x, "frameCount", fact(n, "callpool.stack%u.%s", i, "count"));
    for (unsigned k = 1; *frame_fact(n, i, k); k++) {
      cli_xml_open(x, "callFrame");
      cli_xml_text(x, "translator", frame_fact(n, i, k));
      cli_xml_close(x);
    }
    cli_xml_close(x);
  }
  cli_xml_close(x);
}

void
cli_render_brick_xml(struct cli_xml *x, const json_t *n, const char *what)
{
  if (!what || !cli_true(n, "online"))
    return;
  if (strcmp(what, "clients") == 0) {
    clients_xml(x, n);
  } else if (strcmp(what, "mem") == 0) {
    cli_xml_open(x, "memStatus");
    cli_xml_open(x, "mallinfo");
    for (size_t i = 0; i < GI_ARRAY_LEN(malloc_facts); i++)
      cli_xml_text(x, malloc_facts[i][1], malloc_fact(n, malloc_facts[i][1]));
    cli_xml_close(x);
    cli_xml_text(x, "mempool", "");
    cli_xml_close(x);
  } else if (strcmp(what, "inode") == 0) {
    inodes_xml(x, n);
  } else if (strcmp(what, "fd") == 0) {
    fds_xml(x, n);
  } else if (strcmp(what, "callpool") == 0) {
    callpool_xml(x, n);
  }
}
