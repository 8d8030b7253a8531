/* SPDX-License-Identifier: Apache-2.0
 *
 * get-state (cli.md 5.17): what the daemon knows, as a file of sections with
 * "Key: value" lines. Only the bricks of this node have a port, a state and
 * space in it.
 */
#include "programs/glusterishd/pool/pool.h"
#include "programs/common/size-text.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct state {
  struct gd_op *op;
  FILE *out;
  char *text;
  size_t len;
};

/* ---- volumes ---- */

/* What the bricks said of their clients, by volume and brick ("detail"); NULL: nothing. */
static const json_t *
clients_of(const struct gd_op *op, const struct gd_brick *b)
{
  GI_CLEANUP_FREE char *key = gi_asprintf("%s/%u", b->volume->name, b->index);
  return json_object_get(json_object_get(op->out, "clients"), key);
}

static void
write_clients(struct state *s, unsigned v, const struct gd_brick *b)
{
  const json_t *list = clients_of(s->op, b);
  if (!list)
    return;
  fprintf(s->out, "Volume%u.Brick%u.client_count: %zu\n", v, b->index + 1, json_array_size(list));
  for (size_t i = 0; i < json_array_size(list); i++) {
    static const char *const facts[] = {"hostname", "bytesread", "byteswrite", "opversion"};
    for (size_t k = 0; k < GI_ARRAY_LEN(facts); k++)
      fprintf(s->out, "Volume%u.Brick%u.Client%zu.%s: %s\n", v, b->index + 1, i + 1, facts[k],
              json_string_value(json_object_get(json_array_get(list, i), facts[k])));
  }
}

static void
write_brick(struct state *s, unsigned v, const struct gd_brick *b)
{
  const struct statvfs *st = gd_disks_get(s->op, b->path);
  unsigned i = b->index + 1;
  bool online = gd_brick_online(b);
  fprintf(s->out, "Volume%u.Brick%u.path: %s:%s\nVolume%u.Brick%u.hostname: %s\n", v, i, b->host, b->path, v, i, b->host);
  if (gd_brick_is_arbiter(b))
    fprintf(s->out, "Volume%u.Brick%u.is_arbiter: 1\n", v, i);
  fprintf(s->out, "Volume%u.Brick%u.port: %d\nVolume%u.Brick%u.rdma_port: 0\n", v, i, b->port, v, i);
  fprintf(s->out, "Volume%u.Brick%u.port_registered: %d\nVolume%u.Brick%u.status: %s\n", v, i, b->signed_in, v, i,
          online ? "Started" : "Stopped");
  fprintf(s->out, "Volume%u.Brick%u.spacefree: %lluBytes\nVolume%u.Brick%u.spacetotal: %lluBytes\n", v, i,
          st ? (unsigned long long)st->f_bfree * st->f_frsize : 0, v, i,
          st ? (unsigned long long)st->f_blocks * st->f_frsize : 0);
  write_clients(s, v, b);
}

static void
write_rebalance(struct state *s, unsigned v, const struct gd_rebalance *r)
{
  static const char *const status[] = {"not_started", "started", "stopped", "completed", "failed"};
  const struct {
    const char *name;
    uint64_t count;
  } counts[] = {{"failures", r->failures}, {"skipped", r->skipped}, {"lookedup", r->scanned}, {"files", r->files}};
  char id[GI_UUID_TEXT], size[32];
  fprintf(s->out, "Volume%u.rebalance.id: %s\nVolume%u.rebalance.status: %s\n", v, gi_gfid_text(&r->id, id), v,
          status[r->status]);
  for (size_t i = 0; i < GI_ARRAY_LEN(counts); i++)
    fprintf(s->out, "Volume%u.rebalance.%s: %llu\n", v, counts[i].name, (unsigned long long)counts[i].count);
  cli_size_text(r->bytes, size);
  fprintf(s->out, "Volume%u.rebalance.data: %s\nVolume%u.time_left: %llu\n", v, size, v, (unsigned long long)r->left);
}

static void
write_volume(struct state *s, unsigned i, const struct gd_volume *v)
{
  char id[GI_UUID_TEXT];
  bool shd = gd_shd_pid(v) != 0;
  fprintf(s->out, "Volume%u.name: %s\nVolume%u.id: %s\nVolume%u.type: %s\nVolume%u.transport_type: tcp\n", i, v->name, i,
          gi_gfid_text(&v->id, id), i, gd_volume_type_text(v), i);
  fprintf(s->out, "Volume%u.status: %s\nVolume%u.profile_enabled: %d\nVolume%u.brickcount: %u\n", i, gd_volume_status_text(v),
          i,
          gd_volume_bool(v, "diagnostics.latency-measurement", false) && gd_volume_bool(v, "diagnostics.count-fop-hits", false),
          i, v->nbricks);
  for (unsigned k = 0; k < v->nbricks; k++)
    write_brick(s, i, &v->bricks[k]);
  fprintf(s->out, "Volume%u.snap_count: 0\nVolume%u.stripe_count: 1\nVolume%u.replica_count: %u\nVolume%u.subvol_count: %u\n",
          i, i, i, v->replica, i, gd_volume_sets(v));
  fprintf(s->out, "Volume%u.arbiter_count: %u\nVolume%u.disperse_count: 0\nVolume%u.redundancy_count: 0\n", i, v->arbiter, i,
          i);
  fprintf(s->out, "Volume%u.quorum_status: not_applicable\nVolume%u.snapd_svc.online_status: Offline\n", i, i);
  fprintf(s->out, "Volume%u.snapd_svc.inited: False\n", i);
  write_rebalance(s, i, &v->rebalance);
  fprintf(s->out, "Volume%u.shd_svc.online_status: %s\nVolume%u.shd_svc.inited: %s\nVolume%u.gsync_count: 0\n", i,
          shd ? "Online" : "Offline", i, shd ? "True" : "False", i);
  gi_list_foreach(o, &v->options, struct gd_option, link)
    fprintf(s->out, "Volume%u.options.%s: %s\n", i, o->key, o->value);
  fputc('\n', s->out);
}

/* ---- all ---- */

static void
write_peers(struct state *s)
{
  const struct gd_node *n;
  char uuid[GI_UUID_TEXT];
  fputs("\n[Peers]\n", s->out);
  for (unsigned i = 0; (n = gd_node_at(s->op->gd, i)) != NULL; i++) {
    fprintf(s->out, "Peer%u.primary_hostname: %s\nPeer%u.uuid: %s\nPeer%u.state: Peer in Cluster\nPeer%u.connected: %s\n",
            i + 1, n->hosts[0], i + 1, gi_gfid_text(&n->id, uuid), i + 1, i + 1,
            gd_node_connected(n) ? "Connected" : "Disconnected");
    fprintf(s->out, "Peer%u.othernames: ", i + 1);
    for (unsigned k = 1; k < n->nhosts; k++)
      fprintf(s->out, "%s%s", k > 1 ? "," : "", n->hosts[k]);
    fputc('\n', s->out);
  }
}

static void
write_global(struct state *s)
{
  const struct gd *gd = s->op->gd;
  char uuid[GI_UUID_TEXT];
  fprintf(s->out, "[Global]\nMYUUID: %s\nop-version: %d\n\n[Global options]\n", gi_gfid_text(&gd->uuid, uuid), GD_OP_VERSION);
  gi_list_foreach(o, &gd->pool_options, struct gd_option, link)
    fprintf(s->out, "%s: %s\n", o->key, o->value);
  write_peers(s);
  fputs("\n[Volumes]\n", s->out);
}

static void
write_services(struct state *s)
{
  static const char *const names[] = {"bitd", "scrub", "quotad"};
  fputs("\n[Services]\n", s->out);
  for (unsigned i = 0; i < GI_ARRAY_LEN(names); i++)
    fprintf(s->out, "svc%u.name: %s\nsvc%u.online_status: Offline\n\n", i + 1, names[i], i + 1);
}

/* `volumeoptions`: every option of every volume with what is in force; the last one comes first. */
static void
write_options(struct state *s, unsigned i, const struct gd_volume *v)
{
  const struct gd_options_map *map = s->op->gd->map;
  unsigned n = 0, count = gd_map_count(map);
  GI_CLEANUP_FREE unsigned *at = gi_zalloc((count + 1) * sizeof(*at));
  const char *last = "";
  for (unsigned k = 0; k < count; k++) {
    const struct gd_key *key = gd_map_at(map, k);
    if (strcmp(last, key->key) != 0 && key->kind != GD_KEY_POOL)
      at[n++] = k;
    last = key->key;
  }
  fprintf(s->out, "Volume%u.name: %s\nVolume%u.options.count: %u\n", i, v->name, i, n);
  for (; n > 0; n--) {
    const char *key = gd_map_at(map, at[n - 1])->key, *set = gd_options_get(&v->options, key), *def = gd_map_default(map, key);
    fprintf(s->out, "Volume%u.options.value%u: %s%s\nVolume%u.options.key%u: %s\n", i, n,
            set   ? set
            : def ? def
                  : "(null)",
            set ? "" : " (DEFAULT)", i, n, key);
  }
  fputc('\n', s->out);
}

/* The name of the file; NULL and err if the directory is not there. The caller frees it. */
static char *
path_of(const struct gd_op *op, struct gi_error *err)
{
  const char *dir = gd_op_str(op, "odir"), *file = gd_op_str(op, "file");
  char stamp[32];
  struct stat st;
  struct tm tm;
  time_t now = (time_t)gi_wall(op->gd->reactor).sec;
  strftime(stamp, sizeof(stamp), "%Y%m%d_%H%M%S", gmtime_r(&now, &tm));
  if (!dir)
    dir = op->gd->config.rundir;
  if (stat(dir, &st) || !S_ISDIR(st.st_mode)) {
    gi_error_set(err, GD_ERR_MGMT, "Output directory %.512s does not exist.", dir);
    return NULL;
  }
  const char *slash = dir[strlen(dir) - 1] == '/' ? "" : "/";
  return file ? gi_asprintf("%s%s%s", dir, slash, file) : gi_asprintf("%s%sglusterd_state_%s", dir, slash, stamp);
}

/* Who asks for the same name again gets the newer state there: scripts do. */
static int
save(struct state *s, struct gi_error *err)
{
  GI_CLEANUP_FREE char *path = path_of(s->op, err);
  if (!path)
    return -1;
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
  bool written = fd >= 0 && write(fd, s->text, s->len) == (ssize_t)s->len;
  int code = errno;
  if (fd >= 0)
    close(fd);
  if (!written)
    return gi_error_set(err, GD_ERR_MGMT, "cannot write %.512s: %s", path, strerror(code));
  json_object_set_new(s->op->out, "path", json_string(path));
  return 0;
}

static int
write_state(struct gd_op *op, struct gi_error *err)
{
  struct state s = {.op = op};
  unsigned n = 0;
  bool options = gd_op_flag(op, "volumeoptions");
  s.out = open_memstream(&s.text, &s.len);
  GI_ASSERT(s.out);
  if (options)
    fputs("[Volume Options]\n", s.out);
  else
    write_global(&s);
  gi_list_foreach(v, &op->gd->volumes, struct gd_volume, link) {
    if (options)
      write_options(&s, ++n, v);
    else
      write_volume(&s, ++n, v);
  }
  if (!options) {
    write_services(&s);
    fprintf(s.out, "\n[Misc]\nBase port: %d\n", op->gd->config.base_port);
  }
  int ret = fclose(s.out) == 0 ? save(&s, err) : gi_error_set(err, ENOMEM, "out of memory");
  free(s.text);
  return ret;
}

/* ---- detail: the bricks are asked for their clients first ---- */

struct ask {
  struct gd_op *op;
  char *key;
};

static void
brick_said(int code, const struct gi_dict *d, void *arg)
{
  struct ask *ask = arg;
  struct gd_op *op = ask->op;
  struct gi_error err = {0};
  int64_t n = 0;
  json_t *list = json_array();
  gi_dict_get_int(d, "clientcount", &n);
  for (unsigned i = 0; i < n && i < gi_dict_count(d); i++) {
    static const char *const facts[] = {"hostname", "bytesread", "byteswrite", "opversion"};
    json_t *client = json_object();
    for (size_t k = 0; k < GI_ARRAY_LEN(facts); k++) {
      char key[64];
      const char *text;
      snprintf(key, sizeof(key), "client%u.%s", i, facts[k]);
      json_object_set_new(client, facts[k], json_string(gi_dict_get_str(d, key, &text) ? text : ""));
    }
    json_array_append_new(list, client);
  }
  json_object_set_new(json_object_get(op->out, "clients"), ask->key, list);
  gi_free(ask->key);
  gi_free(ask);
  GI_ASSERT(op->waiting > 0);
  if (--op->waiting)
    return;
  write_state(op, &err);
  gd_op_finish(op, &err);
}

static void
ask_brick(struct gd_op *op, struct gd_brick *b)
{
  if (!gd_brick_online(b))
    return;
  struct ask *ask = gi_new(struct ask);
  *ask = (struct ask){op, gi_asprintf("%s/%u", b->volume->name, b->index)};
  op->waiting++;
  gd_brick_ask_status(b, GD_STATUS_CLIENTS, brick_said, ask);
}

static int
state_now(struct gd_op *op, struct gi_error *err)
{
  json_object_set_new(op->out, "clients", json_object());
  gi_list_foreach(v, &op->gd->volumes, struct gd_volume, link)
    for (unsigned i = 0; i < v->nbricks && gd_op_flag(op, "detail"); i++)
      ask_brick(op, &v->bricks[i]);
  return op->waiting ? GD_OP_LATER : write_state(op, err) ? GD_OP_FAILED : GD_OP_DONE;
}

int
gd_op_get_state(struct gd_op *op, struct gi_error *err)
{
  const char *file = gd_op_str(op, "file");
  if (file && strchr(file, '/'))
    return gi_error_set(err, EINVAL, "the file name %.256s has a slash", file);
  return gd_disks_look(op, NULL, state_now, err);
}
