/* SPDX-License-Identifier: Apache-2.0
 *
 * volume create (cli.md 5.1). All is checked before anything is changed, and
 * what a failed attempt left behind (directories, marks) is taken away again.
 */
#include "programs/glusterishd/ops/place.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

struct draft {
  struct gd_op *op;
  struct gd_volume *v; /* NULL once it is in force */
  struct gd_prepare *prepare;
};

static int
add_brick(struct draft *d, const char *text, struct gi_error *err)
{
  struct gd_volume *v = d->v;
  struct gd_brick *b = &v->bricks[v->nbricks];
  if (prog_brick_parse(text, &b->host, &b->path, err))
    return -1;
  b->volume = v;
  b->index = v->nbricks++;
  b->id = gi_asprintf("%s-client-%u", v->name, b->index);
  if (gd_brick_find_node(d->op->gd, b, err))
    return -1;
  for (unsigned i = 0; i < b->index; i++)
    if (strcmp(v->bricks[i].path, b->path) == 0 && strcasecmp(v->bricks[i].host, b->host) == 0)
      return gi_error_set(err, EINVAL, "Found duplicate exports %s", text);
  return 0;
}

static int
check_shape(struct draft *d, struct gi_error *err)
{
  const struct gd_volume *v = d->v;
  if (v->nbricks % gd_volume_set_size(v))
    return gi_error_set(err, EINVAL, "number of bricks is not a multiple of replica count");
  return gd_op_flag(d->op, "force") ? 0 : gd_check_spread(v, err);
}

int
gd_check_spread(const struct gd_volume *v, struct gi_error *err)
{
  for (unsigned i = 0; i < v->nbricks; i++)
    for (unsigned k = i + 1; k < v->nbricks && k / v->replica == i / v->replica; k++)
      if (gi_gfid_equal(&v->bricks[i].node, &v->bricks[k].node))
        return gi_error_set(
            err, EINVAL,
            "Multiple bricks of a replicate volume are present on the same server. This setup is not optimal. Bricks should be "
            "on different nodes to have best fault tolerant configuration. Use 'force' at the end of the command if you want "
            "to override this behavior. ");
  return 0;
}

static bool
contains(const char *a, const char *b)
{
  size_t len = strlen(b);
  return strncmp(a, b, len) == 0 && (a[len] == '/' || a[len] == '\0');
}

int
gd_check_neighbours(const struct gd_volume *v, unsigned n, const struct gd_brick *b, struct gi_error *err)
{
  for (unsigned i = 0; i < n; i++) {
    const struct gd_brick *o = &v->bricks[i];
    if (o == b)
      continue;
    if (gi_gfid_equal(&o->node, &b->node) && (contains(o->path, b->path) || contains(b->path, o->path)))
      return gi_error_set(err, EINVAL,
                          "Brick: %s:%s not available. Brick may be containing or be contained by an existing brick.", b->host,
                          b->path);
    if (gd_brick_same_files(o, b))
      return gi_error_set(
          err, EINVAL,
          "Brick: %s:%s not available. Its path differs from that of %s:%s only in / and -, so that their files of "
          "the management daemon would have the same names.",
          b->host, b->path, o->host, o->path);
  }
  return 0;
}

static int
check_nesting(const struct gd_volume *v, struct gi_error *err)
{
  for (unsigned i = 0; i < v->nbricks; i++)
    if (gd_check_neighbours(v, i, &v->bricks[i], err))
      return -1;
  return 0;
}

static int
read_shape(struct draft *d, struct gi_error *err)
{
  struct gd_op *op = d->op;
  long replica = gd_op_int(op, "replica", 1), arbiter = gd_op_int(op, "arbiter", 0);
  if (gd_op_int(op, "disperse", 0) || gd_op_int(op, "thin-arbiter", 0))
    return gi_error_set(err, EOPNOTSUPP, "dispersed and thin-arbiter volumes are not supported by this version");
  if (replica < 1 || replica > GD_BRICKS_MAX)
    return gi_error_set(err, EINVAL, "the request has no usable list of bricks for so many copies");
  if (arbiter < 0 || arbiter > 1 || (arbiter && replica != 3))
    return gi_error_set(err, EINVAL,
                        "For arbiter configuration, replica count must be 2 and arbiter count must be 1. The 3rd brick of the "
                        "replica will be the arbiter");
  d->v->replica = (unsigned)replica;
  d->v->arbiter = (unsigned)arbiter;
  d->v->type = replica > 1 ? GD_REPLICATE : GD_DISTRIBUTE;
  return 0;
}

static int
read_bricks(struct draft *d, const json_t *bricks, struct gi_error *err)
{
  size_t count = json_array_size(bricks);
  if (count == 0 || count > GD_BRICKS_MAX)
    return gi_error_set(err, EINVAL, "the request has no usable list of bricks");
  d->v->bricks = gi_zalloc(count * sizeof(*d->v->bricks));
  for (size_t i = 0; i < count; i++)
    if (add_brick(d, json_string_value(json_array_get(bricks, i)), err))
      return -1;
  return check_shape(d, err) || check_nesting(d->v, err) ? -1 : 0;
}

static void
set_identity(struct gd_volume *v)
{
  struct gi_reactor *r = v->gd->reactor;
  char text[GI_UUID_TEXT];
  struct gi_gfid user = gi_gfid_new(r), password = gi_gfid_new(r);
  v->id = gi_gfid_new(r);
  v->username = gi_strdup(gi_gfid_text(&user, text));
  v->password = gi_strdup(gi_gfid_text(&password, text));
  if (v->type == GD_REPLICATE)
    gd_options_set(&v->options, "performance.client-io-threads", "off");
  gd_options_set(&v->options, "nfs.disable", "on");
  gd_options_set(&v->options, "transport.address-family", "inet");
  gd_options_set(&v->options, "storage.fips-mode-rchecksum", "on");
  if (v->type == GD_REPLICATE)
    gd_options_set(&v->options, "cluster.granular-entry-heal", "on");
}

static int
check_name(struct gd_op *op, const char *name, struct gi_error *err)
{
  if (!name)
    return gi_error_set(err, EINVAL, "the request names no volume");
  if (prog_volume_name_check(name, err))
    return -1;
  GI_CLEANUP_FREE char *dir = gd_volume_dir(op->gd, name);
  if (op->volume || access(dir, F_OK) == 0) /* also one whose definition could not be read */
    return gi_error_set(err, GD_ERR_MGMT, "Volume %s already exists", name);
  return 0;
}

static void
release(struct gd_op *op)
{
  struct draft *d = op->state;
  gd_prepare_free(&d->prepare);
  gd_volume_free(d->v);
  gi_free(d);
}

static void
settled(struct gd_op *op)
{
  gd_op_finish(op, NULL);
}

static void
stored(struct gd_op *op, const struct gi_error *err)
{
  struct draft *d = op->state;
  struct gd_volume *v = d->v;
  char id[GI_UUID_TEXT];
  if (err->code) {
    struct gi_error why = *err;
    if (why.code != GD_UNSURE)
      gd_prepare_undo(d->prepare);
    if (!op->gd->pool)
      GI_IGNORE(gd_store_delete(op->gd, v->name, NULL));
    gd_op_finish(op, &why);
    return;
  }
  const struct gd_volume *taken = gd_volume_find(op->gd, v->name); /* from the store, which told of it before it answered */
  if (!taken) {
    d->v = NULL;
    gd_volume_link(v);
  }
  json_object_set_new(op->out, "name", json_string(v->name));
  json_object_set_new(op->out, "id", json_string(gi_gfid_text(&v->id, id)));
  gd_services_changed(op->gd);
  gd_settle(op, v->name, false, settled);
}

static void
prepared(struct gd_op *op, const struct gi_error *err)
{
  struct draft *d = op->state;
  if (err->code)
    gd_op_finish(op, err);
  else
    gd_commit(op, d->v, stored);
}

/* Everything is known but whether the bricks can be made. */
static int
prepare(struct gd_op *op, const json_t *bricks, struct gi_error *err)
{
  struct draft *d = op->state;
  if (read_bricks(d, bricks, err))
    return GD_OP_FAILED;
  GI_CLEANUP_FREE const struct gd_brick **list = gi_zalloc(d->v->nbricks * sizeof(*list));
  for (unsigned i = 0; i < d->v->nbricks; i++)
    list[i] = &d->v->bricks[i];
  set_identity(d->v);
  d->prepare = gd_prepare_new(op, &d->v->id, list, d->v->nbricks);
  gd_prepare_run(d->prepare, gd_op_flag(op, "force"), false, NULL, prepared);
  return GD_OP_LATER;
}

/* Bricks go where there is room. */
static int
place(struct draft *d, struct gi_error *err)
{
  const struct gd_volume *v = d->v;
  long sets = gd_op_int(d->op, "sets", 1);
  if (sets < 1 || sets > GD_BRICKS_MAX / (long)v->replica)
    return gi_error_set(err, EINVAL, "the request has no usable number of sets");
  const struct gd_place_wish wish = {.volume = v->name,
                                     .sets = (unsigned)sets,
                                     .copies = v->replica,
                                     .arbiter = v->arbiter,
                                     .force = gd_op_flag(d->op, "force")};
  return gd_place(d->op, &wish, prepare, err);
}

int
gd_op_create(struct gd_op *op, struct gi_error *err)
{
  const char *name = gd_op_str(op, "volume");
  if (check_name(op, name, err))
    return GD_OP_FAILED;
  struct draft *d = gi_new(struct draft);
  d->op = op;
  d->v = gd_volume_new(op->gd, name);
  op->state = d;
  op->release = release;
  if (read_shape(d, err))
    return GD_OP_FAILED;
  return gd_op_flag(op, "auto") ? place(d, err) : prepare(op, gd_op_strings(op, "bricks"), err);
}
