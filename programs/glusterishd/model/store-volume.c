/* SPDX-License-Identifier: Apache-2.0
 *
 * The state directory (volfile.md 13): who this node is, and every volume with
 * its bricks and volfiles, in files the original daemon can read too. An
 * existing directory is imported by reading it: ids, order of bricks and
 * unknown options are kept as they are.
 */
#include "programs/glusterishd/model/model.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

/* Keys of vols/V/info that are not volume options. */
static const char *const info_keys[] = {
    "type",
    "count",
    "status",
    "sub_count",
    "stripe_count",
    "replica_count",
    "arbiter_count",
    "thin_arbiter_count",
    "disperse_count",
    "redundancy_count",
    "version",
    "transport-type",
    "volume-id",
    "username",
    "password",
    "op-version",
    "client-op-version",
    "quota-version",
    "tier-enabled",
    "parent_volname",
    "restored_from_snap",
    "snap-max-hard-limit",
    "caps",
};

char *
gd_volume_dir(const struct gd *gd, const char *name)
{
  return gi_asprintf("%s/vols/%s", gd->config.workdir, name);
}

/* ---- writing ---- */

struct text {
  FILE *f;
  char *base;
  size_t len;
};

static void
text_open(struct text *t)
{
  t->f = open_memstream(&t->base, &t->len);
  GI_ASSERT(t->f != NULL);
}

/* A file of volume `v`, or NULL: of the node. */
static int
save(struct gd_volume *v, const char *path, const char *text, size_t len, struct gi_error *err)
{
  int ret = gd_write_file(path, text, len, v && v->stored, err);
  if (ret && v)
    v->stored = false;
  return ret;
}

static int
text_save(struct gd_volume *v, struct text *t, const char *path, struct gi_error *err)
{
  GI_ASSERT(fclose(t->f) == 0);
  int ret = t->len <= GD_KVS_MAX
                ? save(v, path, t->base, t->len, err)
                : gi_error_set(err, EFBIG,
                               "%s would have %zu bytes, but no more than %u are read back: use fewer or shorter "
                               "options; nothing was changed",
                               path, t->len, GD_KVS_MAX);
  free(t->base);
  return ret;
}

static char *
brick_file(const struct gd_brick *b)
{
  GI_CLEANUP_FREE char *dashed = gd_brick_dashed(b);
  return gi_asprintf("%s:-%s", b->host, dashed);
}

int
gd_store_brick(const struct gd_brick *b, struct gi_error *err)
{
  GI_CLEANUP_FREE char *dir = gd_volume_dir(b->volume->gd, b->volume->name);
  GI_CLEANUP_FREE char *file = brick_file(b);
  GI_CLEANUP_FREE char *path = gi_asprintf("%s/bricks/%s", dir, file);
  char uuid[GI_UUID_TEXT];
  struct text t;
  text_open(&t);
  fprintf(t.f, "uuid=%s\nhostname=%s\npath=%s\nreal_path=%s\nlisten-port=%d\nrdma.listen-port=0\ndecommissioned=%d\n",
          gi_gfid_text(&b->node, uuid), b->host, b->path, b->path, b->port, b->decommissioned);
  fprintf(t.f, "brick-id=%s\nmount_dir=%s\nsnap-status=0\nbrick-fsid=0\n", b->id, b->path);
  return text_save(b->volume, &t, path, err);
}

static void
print_info(const struct gd_volume *v, FILE *f)
{
  char id[GI_UUID_TEXT];
  fprintf(f, "type=%d\ncount=%u\nstatus=%d\nsub_count=%u\nreplica_count=%u\n", v->type, v->nbricks, v->status,
          v->type == GD_DISTRIBUTE ? 0 : gd_volume_set_size(v), v->replica);
  if (v->arbiter)
    fprintf(f, "arbiter_count=%u\n", v->arbiter);
  fprintf(f, "disperse_count=0\nredundancy_count=0\nversion=%u\ntransport-type=0\nvolume-id=%s\n", v->version,
          gi_gfid_text(&v->id, id));
  fprintf(f, "username=%s\npassword=%s\nop-version=%u\nclient-op-version=%u\n", v->username, v->password, v->op_version,
          v->client_op_version);
  fputs("quota-version=0\ntier-enabled=0\nparent_volname=N/A\n"
        "restored_from_snap=00000000-0000-0000-0000-000000000000\nsnap-max-hard-limit=256\n",
        f);
  gi_list_foreach(o, &v->options, struct gd_option, link)
    fprintf(f, "%s=%s\n", o->key, o->value);
  for (unsigned i = 0; i < v->nbricks; i++) {
    GI_CLEANUP_FREE char *file = brick_file(&v->bricks[i]);
    fprintf(f, "brick-%u=%s\n", i, file);
  }
}

/* A volume that is as it was keeps its version. */
static int
store_info(struct gd_volume *v, const char *dir, struct gi_error *err)
{
  GI_CLEANUP_FREE char *path = gi_asprintf("%s/info", dir);
  struct text t;
  text_open(&t);
  print_info(v, t.f);
  fflush(t.f);
  if (!v->counted && !gd_file_has(path, t.base, t.len)) {
    v->version++;
    rewind(t.f);
    print_info(v, t.f);
  }
  return text_save(v, &t, path, err);
}

static int
store_volfile(struct gd_volume *v, struct gi_volfile *vf, const char *dir, const char *file, struct gi_error *err)
{
  if (!vf)
    return -1;
  GI_CLEANUP_FREE char *text = gi_volfile_write(vf);
  GI_CLEANUP_FREE char *path = gi_asprintf("%s/%s", dir, file);
  gi_volfile_free(&vf);
  return save(v, path, text, strlen(text), err);
}

static int
store_volfiles(struct gd_volume *v, const char *dir, struct gi_error *err)
{
  for (int trusted = 0; trusted < 2; trusted++) {
    GI_CLEANUP_FREE char *file = gi_asprintf("%s%s.tcp-fuse.vol", trusted ? "trusted-" : "", v->name);
    if (store_volfile(v, gd_volgen_client(v, trusted, err), dir, file, err))
      return -1;
  }
  for (unsigned i = 0; i < v->nbricks; i++) {
    GI_CLEANUP_FREE char *dashed = gd_brick_dashed(&v->bricks[i]);
    GI_CLEANUP_FREE char *file = gi_asprintf("%s.%s.%s.vol", v->name, v->bricks[i].host, dashed);
    if (store_volfile(v, gd_volgen_brick(&v->bricks[i], err), dir, file, err))
      return -1;
  }
  return 0;
}

int
gd_store_volume(struct gd_volume *v, struct gi_error *err)
{
  gd_volume_check(v);
  GI_CLEANUP_FREE char *dir = gd_volume_dir(v->gd, v->name);
  GI_CLEANUP_FREE char *bricks = gi_asprintf("%s/bricks", dir);
  if (gd_mkdir_all(bricks, 0755, err))
    return -1;
  for (unsigned i = 0; i < v->nbricks; i++)
    if (gd_store_brick(&v->bricks[i], err))
      return -1;
  if (store_volfiles(v, dir, err))
    return -1;
  /* Last: with the info file the volume exists. */
  if (store_info(v, dir, err))
    return -1;
  v->stored = true;
  return 0;
}

void
gd_store_forget_brick(const struct gd_brick *b)
{
  const struct gd_volume *v = b->volume;
  GI_CLEANUP_FREE char *dir = gd_volume_dir(v->gd, v->name);
  GI_CLEANUP_FREE char *dashed = gd_brick_dashed(b);
  GI_CLEANUP_FREE char *file = brick_file(b);
  GI_CLEANUP_FREE char *path = gi_asprintf("%s/bricks/%s", dir, file);
  GI_CLEANUP_FREE char *volfile = gi_asprintf("%s/%s.%s.%s.vol", dir, v->name, b->host, dashed);
  unlink(path);
  unlink(volfile);
}

int
gd_store_delete(struct gd *gd, const char *name, struct gi_error *err)
{
  GI_CLEANUP_FREE char *dir = gd_volume_dir(gd, name);
  GI_CLEANUP_FREE char *trash = gi_asprintf("%s/trash", gd->config.workdir);
  GI_CLEANUP_FREE char *gone = gi_asprintf("%s/%s", trash, name);
  /* Moved away in one step, so that a crash leaves all of it or nothing. */
  if (gd_mkdir_all(trash, 0755, err) || gd_remove_tree(gone, err))
    return -1;
  if (rename(dir, gone) && errno != ENOENT)
    return gi_error_set(err, errno, "cannot remove %s: %s", dir, strerror(errno));
  return gd_remove_tree(gone, err);
}

static int
store_node(const struct gd *gd, struct gi_error *err)
{
  GI_CLEANUP_FREE char *path = gi_asprintf("%s/glusterd.info", gd->config.workdir);
  char uuid[GI_UUID_TEXT];
  struct text t;
  text_open(&t);
  fprintf(t.f, "UUID=%s\noperating-version=%d\n", gi_gfid_text(&gd->uuid, uuid), GD_OP_VERSION);
  return text_save(NULL, &t, path, err);
}

int
gd_store_become(struct gd *gd, const struct gi_gfid *id, struct gi_error *err)
{
  struct gi_gfid before = gd->uuid;
  GI_ASSERT(gi_list_empty(&gd->volumes));
  gd->uuid = *id;
  if (!store_node(gd, err))
    return 0;
  gd->uuid = before;
  return -1;
}

int
gd_store_pool_options(struct gd *gd, struct gi_error *err)
{
  GI_CLEANUP_FREE char *path = gi_asprintf("%s/options", gd->config.workdir);
  struct text t;
  text_open(&t);
  fprintf(t.f, "global-option-version=%u\n", ++gd->pool_version);
  gi_list_foreach(o, &gd->pool_options, struct gd_option, link)
    fprintf(t.f, "%s=%s\n", o->key, o->value);
  return text_save(NULL, &t, path, err);
}

/* ---- reading ---- */

static int
kvs_number(const struct gd_kvs *kvs, const char *key, unsigned long max, unsigned *out, struct gi_error *err)
{
  const char *text = gd_kvs_get(kvs, key);
  if (!text)
    return 0; /* absent: the default stays */
  char *end;
  errno = 0;
  unsigned long n = strtoul(text, &end, 10);
  if (*text == '-' || end == text || *end || errno || n > max)
    return gi_error_set(err, EILSEQ, "bad value %s=%s", key, text);
  *out = (unsigned)n;
  return 0;
}

static int
load_brick(struct gd_brick *b, const char *dir, const char *file, struct gi_error *err)
{
  if (strchr(file, '/'))
    return gi_error_set(err, EILSEQ, "bad brick file name %s", file);
  GI_CLEANUP_FREE char *path = gi_asprintf("%s/bricks/%s", dir, file);
  struct gd_kvs kvs;
  if (gd_kvs_load(path, &kvs, err))
    return -1;
  const char *host = gd_kvs_get(&kvs, "hostname"), *brick_path = gd_kvs_get(&kvs, "path"), *id = gd_kvs_get(&kvs, "brick-id");
  const char *node = gd_kvs_get(&kvs, "uuid");
  unsigned port = 0, decommissioned = 0;
  int ret = kvs_number(&kvs, "listen-port", 65535, &port, err) || kvs_number(&kvs, "decommissioned", 1, &decommissioned, err);
  if (!ret && (!host || !brick_path || !node || !gi_gfid_parse(node, &b->node)))
    ret = gi_error_set(err, EILSEQ, "%s lacks uuid, hostname or path", path);
  if (!ret) {
    GI_CLEANUP_FREE char *text = gi_asprintf("%s:%s", host, brick_path);
    ret = prog_brick_parse(text, &b->host, &b->path, err);
  }
  if (!ret) {
    b->id = id && *id ? gi_strdup(id) : gi_asprintf("%s-client-%u", b->volume->name, b->index);
    b->port = (int)port;
    b->decommissioned = decommissioned;
  }
  gd_kvs_free(&kvs);
  return ret ? -1 : 0;
}

bool
gd_is_volume_option(const char *key)
{
  for (size_t i = 0; i < GI_ARRAY_LEN(info_keys); i++)
    if (strcmp(key, info_keys[i]) == 0)
      return false;
  return key[0] != '#' && strncmp(key, "brick-", 6) != 0 && strncmp(key, "ta-brick-", 9) != 0;
}

static int
load_numbers(struct gd_volume *v, const struct gd_kvs *kvs, unsigned *count, struct gi_error *err)
{
  unsigned type = ~0u, status = 0;
  if (kvs_number(kvs, "type", 9, &type, err) || kvs_number(kvs, "status", GD_STOPPED, &status, err) ||
      kvs_number(kvs, "count", GD_BRICKS_MAX, count, err) ||
      kvs_number(kvs, "replica_count", GD_BRICKS_MAX, &v->replica, err) ||
      kvs_number(kvs, "arbiter_count", 1, &v->arbiter, err) || kvs_number(kvs, "version", UINT_MAX, &v->version, err) ||
      kvs_number(kvs, "op-version", UINT_MAX, &v->op_version, err) ||
      kvs_number(kvs, "client-op-version", UINT_MAX, &v->client_op_version, err))
    return -1;
  if (type != GD_DISTRIBUTE && type != GD_REPLICATE)
    return gi_error_set(err, EOPNOTSUPP, "volumes of type %u are not supported", type);
  v->type = type;
  v->status = status;
  if (v->replica < 1 || (type == GD_REPLICATE) != (v->replica > 1) || *count == 0 || *count % v->replica)
    return gi_error_set(err, EILSEQ, "%u bricks do not make up sets of %u", *count, v->replica);
  if (v->arbiter && v->replica != 3)
    return gi_error_set(err, EILSEQ, "an arbiter belongs to sets of 3 bricks, not of %u", v->replica);
  return 0;
}

/* The name of a client volume: nothing else in a volfile may have it. */
static bool
is_brick_id(const char *id)
{
  const char *number = strrchr(id, '-');
  size_t len = strspn(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.");
  return number && number - id > 7 && strncmp(number - 7, "-client-", 8) == 0 && number[1] &&
         number[1 + strspn(number + 1, "0123456789")] == '\0' && id[len] == '\0';
}

/* What a volfile could not be written with, or two bricks would do as one. */
int
gd_bricks_check(const struct gd_volume *v, struct gi_error *err)
{
  for (unsigned i = 0; i < v->nbricks; i++) {
    const struct gd_brick *b = &v->bricks[i];
    if (!is_brick_id(b->id))
      return gi_error_set(err, EILSEQ, "brick-%u has the impossible id %.64s", i, b->id);
    for (unsigned j = 0; j < i; j++)
      if (strcmp(v->bricks[j].id, b->id) == 0 || gd_brick_same_files(&v->bricks[j], b))
        return gi_error_set(err, EILSEQ, "brick-%u and brick-%u are one: %s:%s, id %s", j, i, b->host, b->path, b->id);
  }
  return 0;
}

static int
load_info(struct gd_volume *v, const struct gd_kvs *kvs, const char *dir, struct gi_error *err)
{
  unsigned count = 0;
  if (load_numbers(v, kvs, &count, err))
    return -1;
  const char *id = gd_kvs_get(kvs, "volume-id"), *user = gd_kvs_get(kvs, "username"), *pass = gd_kvs_get(kvs, "password");
  if (!id || !gi_gfid_parse(id, &v->id) || gi_gfid_is_none(&v->id) || !user || !pass)
    return gi_error_set(err, EILSEQ, "volume-id, username or password is missing");
  v->username = gi_strdup(user);
  v->password = gi_strdup(pass);
  for (unsigned i = kvs->count; i-- > 0;) /* backwards: setting puts it first */
    if (gd_is_volume_option(kvs->kv[i].key))
      gd_options_set(&v->options, kvs->kv[i].key, kvs->kv[i].value);
  v->bricks = gi_zalloc(count * sizeof(*v->bricks));
  for (unsigned i = 0; i < count; i++) {
    GI_CLEANUP_FREE char *key = gi_asprintf("brick-%u", i);
    const char *file = gd_kvs_get(kvs, key);
    if (!file)
      return gi_error_set(err, EILSEQ, "%s is missing", key);
    struct gd_brick *b = &v->bricks[v->nbricks++];
    b->volume = v;
    b->index = i;
    if (load_brick(b, dir, file, err))
      return -1;
  }
  return gd_bricks_check(v, err);
}

static int
load_volume(struct gd *gd, const char *name, struct gi_error *err)
{
  GI_CLEANUP_FREE char *dir = gd_volume_dir(gd, name);
  GI_CLEANUP_FREE char *path = gi_asprintf("%s/info", dir);
  struct gd_kvs kvs;
  if (prog_volume_name_check(name, err) || gd_kvs_load(path, &kvs, err))
    return -1;
  struct gd_volume *v = gd_volume_new(gd, name);
  int ret = load_info(v, &kvs, dir, err);
  gd_kvs_free(&kvs);
  if (ret) {
    gi_error_prefix(err, "%s", path);
    gd_volume_free(v);
    return -1;
  }
  gd_store_load_rebalance(v);
  gd_volume_link(v);
  return 0;
}

static int
load_node(struct gd *gd, struct gi_error *err)
{
  GI_CLEANUP_FREE char *path = gi_asprintf("%s/glusterd.info", gd->config.workdir);
  struct gi_error why = {0};
  struct gd_kvs kvs;
  if (gd_kvs_load(path, &kvs, &why)) {
    if (why.code == ENOENT) {
      gd->uuid = gi_gfid_new(gd->reactor);
      return store_node(gd, err);
    }
    /* Never invent a new identity over a damaged one: bricks are bound to the old. */
    return gi_error_set(err, why.code, "%s", why.text);
  }
  const char *uuid = gd_kvs_get(&kvs, "UUID");
  bool ok = uuid && gi_gfid_parse(uuid, &gd->uuid);
  gd_kvs_free(&kvs);
  return ok ? 0 : gi_error_set(err, EILSEQ, "%s is damaged: no valid UUID", path);
}

static void
load_pool_options(struct gd *gd)
{
  GI_CLEANUP_FREE char *path = gi_asprintf("%s/options", gd->config.workdir);
  struct gi_error err = {0};
  struct gd_kvs kvs;
  if (gd_kvs_load(path, &kvs, &err)) {
    if (err.code != ENOENT)
      gi_log(GI_LOG_ERROR, GD_NAME, GI_MSG_MGMT + 12, "options for all volumes are ignored: %s", err.text);
    return;
  }
  kvs_number(&kvs, "global-option-version", UINT_MAX, &gd->pool_version, NULL);
  for (unsigned i = kvs.count; i-- > 0;)
    if (strcmp(kvs.kv[i].key, "global-option-version") != 0)
      gd_options_set(&gd->pool_options, kvs.kv[i].key, kvs.kv[i].value);
  gd_kvs_free(&kvs);
}

int
gd_store_load(struct gd *gd, struct gi_error *err)
{
  GI_CLEANUP_FREE char *vols = gi_asprintf("%s/vols", gd->config.workdir);
  if (gd_mkdir_all(vols, 0755, err) || load_node(gd, err))
    return -1;
  load_pool_options(gd);
  DIR *d = opendir(vols);
  if (!d)
    return gi_error_set(err, errno, "cannot read %s: %s", vols, strerror(errno));
  for (struct dirent *e; (e = readdir(d)) != NULL;) {
    struct gi_error why = {0};
    if (e->d_name[0] != '.' && load_volume(gd, e->d_name, &why))
      gi_log(GI_LOG_ERROR, GD_NAME, GI_MSG_MGMT + 13, "volume %s is left out: %s", e->d_name, why.text);
  }
  closedir(d);
  return 0;
}
