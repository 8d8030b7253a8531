/* SPDX-License-Identifier: Apache-2.0
 *
 * The output of volume status (cli.md 5.6).
 */
#include "programs/glusterish/cli.h"

#include <string.h>

#define DASHES "------------------------------------------------------------------------------"
#define NAME_WIDTH 43

/* ---- plain ---- */

bool
cli_is_daemon(const json_t *node)
{
  return strcmp(cli_str(node, "kind"), "daemon") == 0;
}

static void
render_row(struct cli *c, const json_t *n)
{
  bool online = cli_true(n, "online"), listens = online && !cli_is_daemon(n);
  GI_CLEANUP_FREE char *name =
      gi_asprintf(cli_is_daemon(n) ? "%s on %s" : "Brick %s:%s", cli_str(n, "hostname"), cli_str(n, "path"));
  char port[24] = "N/A", pid[24] = "N/A";
  const char *piece = name;
  for (; strlen(piece) > NAME_WIDTH; piece += NAME_WIDTH)
    fprintf(c->out, "%.*s\n", NAME_WIDTH, piece);
  if (listens)
    snprintf(port, sizeof(port), "%lld", cli_int(n, "port"));
  if (online)
    snprintf(pid, sizeof(pid), "%lld", cli_int(n, "pid"));
  fprintf(c->out, "%-*s %-10s%-11s%-8c%-5s\n", NAME_WIDTH, piece, port, listens ? "0" : "N/A", online ? 'Y' : 'N', pid);
}

/* ---- detail ---- */

static void
fact(struct cli *c, const char *label, const char *value)
{
  fprintf(c->out, "%-20s : %-20s\n", label, *value ? value : "N/A");
}

static void
render_tasks(struct cli *c, const json_t *v)
{
  fprintf(c->out, "Task Status of Volume %s\n" DASHES "\n", cli_str(v, "name"));
  const json_t *tasks = json_object_get(v, "tasks");
  if (!json_array_size(tasks))
    fprintf(c->out, "There are no active volume tasks\n");
  for (size_t i = 0; i < json_array_size(tasks); i++) {
    const json_t *t = json_array_get(tasks, i), *bricks = json_object_get(t, "bricks");
    fact(c, "Task", cli_str(t, "type"));
    fact(c, "ID", cli_str(t, "id"));
    if (bricks)
      fprintf(c->out, "Removed bricks:     \n");
    for (size_t k = 0; k < json_array_size(bricks); k++)
      fprintf(c->out, "%s\n", json_string_value(json_array_get(bricks, k)));
    fact(c, "Status", cli_str(t, "statusStr"));
  }
  fprintf(c->out, " \n");
}

static const char *
number(const json_t *n, const char *member, char buf[32])
{
  const json_t *j = json_object_get(n, member);
  buf[0] = '\0';
  if (json_is_integer(j))
    snprintf(buf, 32, "%lld", (long long)json_integer_value(j));
  return buf;
}

static const char *
size(const json_t *n, const char *member, char buf[32])
{
  const json_t *j = json_object_get(n, member);
  buf[0] = '\0';
  if (json_is_integer(j))
    cli_size_text((unsigned long long)json_integer_value(j), buf);
  return buf;
}

static void
render_detail(struct cli *c, const json_t *n)
{
  char buf[32];
  bool online = cli_true(n, "online");
  GI_CLEANUP_FREE char *name = gi_asprintf("Brick %s:%s", cli_str(n, "hostname"), cli_str(n, "path"));
  fprintf(c->out, DASHES "\n");
  fact(c, "Brick", name);
  fact(c, "TCP Port", online ? number(n, "port", buf) : "");
  fact(c, "RDMA Port", online ? "0" : "");
  fact(c, "Online", online ? "Y" : "N");
  fact(c, "Pid", online ? number(n, "pid", buf) : "");
  fact(c, "File System", cli_str(n, "fsName"));
  fact(c, "Device", cli_str(n, "device"));
  fact(c, "Mount Options", cli_str(n, "mntOptions"));
  fact(c, "Inode Size", number(n, "inodeSize", buf));
  fact(c, "Disk Space Free", size(n, "sizeFree", buf));
  fact(c, "Total Disk Space", size(n, "sizeTotal", buf));
  fact(c, "Inode Count", number(n, "inodesTotal", buf));
  fact(c, "Free Inodes", number(n, "inodesFree", buf));
}

static void
render_volume(struct cli *c, const json_t *v, const char *what)
{
  const json_t *nodes = json_object_get(v, "nodes");
  bool detail = what && strcmp(what, "detail") == 0;
  if (what && strcmp(what, "tasks") == 0) {
    render_tasks(c, v);
    return;
  }
  if (cli_render_bricks(c, v, what))
    return;
  fprintf(c->out, "Status of volume: %s\n", cli_str(v, "name"));
  if (!detail)
    fprintf(c->out, "%-*s %-10s%-11s%-8s%-3s\n" DASHES "\n", NAME_WIDTH, "Gluster process", "TCP Port", "RDMA Port", "Online",
            "Pid");
  for (size_t i = 0; i < json_array_size(nodes); i++) {
    if (detail)
      render_detail(c, json_array_get(nodes, i));
    else
      render_row(c, json_array_get(nodes, i));
  }
  fprintf(c->out, " \n");
  if (!what && json_object_get(v, "tasks"))
    render_tasks(c, v);
}

void
cli_render_status(struct cli *c, const json_t *doc, const char *what)
{
  const json_t *volumes = json_object_get(doc, "volumes");
  if (json_array_size(volumes) == 0)
    fprintf(c->err, "No volumes present\n");
  for (size_t i = 0; i < json_array_size(volumes); i++) {
    const json_t *v = json_array_get(volumes, i);
    if (cli_true(v, "started")) {
      render_volume(c, v, what);
    } else {
      fprintf(c->err, "Volume %s is not started\n", cli_str(v, "name"));
      fprintf(c->out, " \n");
    }
  }
}

/* ---- XML ---- */

static void
detail_xml(struct cli_xml *x, const json_t *n)
{
  static const char *const members[] = {"sizeTotal", "sizeFree",  "device",      "blockSize", "mntOptions",
                                        "fsName",    "inodeSize", "inodesTotal", "inodesFree"};
  for (size_t i = 0; i < GI_ARRAY_LEN(members); i++) {
    const json_t *m = json_object_get(n, members[i]);
    if (json_is_integer(m))
      cli_xml_int(x, members[i], json_integer_value(m));
    else if (json_is_string(m))
      cli_xml_text(x, members[i], json_string_value(m));
  }
}

static void
node_xml(struct cli_xml *x, const json_t *n, const char *what)
{
  char buf[32];
  bool online = cli_true(n, "online");
  const char *port = online && !cli_is_daemon(n) ? number(n, "port", buf) : "N/A";
  cli_xml_open(x, "node");
  cli_xml_text(x, "hostname", cli_str(n, "hostname"));
  cli_xml_text(x, "path", cli_str(n, "path"));
  cli_xml_text(x, "peerid", cli_str(n, "peerid"));
  cli_xml_int(x, "status", online);
  cli_xml_text(x, "port", port);
  cli_xml_open(x, "ports");
  cli_xml_text(x, "tcp", port);
  cli_xml_text(x, "rdma", "N/A");
  cli_xml_close(x);
  cli_xml_int(x, "pid", online ? cli_int(n, "pid") : -1);
  if (what && strcmp(what, "detail") == 0)
    detail_xml(x, n);
  cli_render_brick_xml(x, n, what);
  cli_xml_close(x);
}

static void
tasks_xml(struct cli_xml *x, const json_t *tasks)
{
  if (!json_array_size(tasks)) {
    cli_xml_text(x, "tasks", "");
    return;
  }
  cli_xml_open(x, "tasks");
  for (size_t i = 0; i < json_array_size(tasks); i++) {
    const json_t *t = json_array_get(tasks, i), *bricks = json_object_get(t, "bricks");
    cli_xml_open(x, "task");
    cli_xml_text(x, "type", cli_str(t, "type"));
    cli_xml_text(x, "id", cli_str(t, "id"));
    cli_xml_int(x, "status", cli_int(t, "status"));
    cli_xml_text(x, "statusStr", cli_str(t, "statusStr"));
    if (bricks)
      cli_xml_open(x, "params");
    for (size_t k = 0; k < json_array_size(bricks); k++)
      cli_xml_text(x, "brick", json_string_value(json_array_get(bricks, k)));
    if (bricks)
      cli_xml_close(x);
    cli_xml_close(x);
  }
  cli_xml_close(x);
}

void
cli_render_status_xml(struct cli *c, const struct cli_reply *reply, const char *what)
{
  const json_t *volumes = json_object_get(reply->doc, "volumes");
  bool tasks = what && strcmp(what, "tasks") == 0;
  struct cli_xml x;
  cli_xml_begin(&x, reply);
  cli_xml_open(&x, "volStatus");
  cli_xml_open(&x, "volumes");
  for (size_t i = 0; i < json_array_size(volumes); i++) {
    const json_t *v = json_array_get(volumes, i), *nodes = json_object_get(v, "nodes");
    if (!cli_true(v, "started"))
      continue;
    cli_xml_open(&x, "volume");
    cli_xml_text(&x, "volName", cli_str(v, "name"));
    if (!tasks)
      cli_xml_int(&x, "nodeCount", (long long)json_array_size(nodes));
    for (size_t k = 0; k < json_array_size(nodes) && !tasks; k++)
      node_xml(&x, json_array_get(nodes, k), what);
    if (tasks || (!what && json_object_get(v, "tasks")))
      tasks_xml(&x, json_object_get(v, "tasks"));
    cli_xml_close(&x);
  }
  cli_xml_end(&x, c->out);
}
