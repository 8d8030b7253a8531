/* SPDX-License-Identifier: Apache-2.0
 *
 * What was done to directories for bricks that are not in force yet, in a file
 * of the state directory, from before it is done: whoever dies in the middle,
 * this node or the one that ordered it, the directories are as they were once
 * it is plain that nothing comes of it.
 *
 * That is plain when the volume has no such brick, and the lock of the pool
 * under which it was ordered is another one's, or nobody's; of a node that is
 * alone, when its daemon begins.
 */
#include "programs/glusterishd/ops/op.h"
#include "programs/glusterishd/pool/credential.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define MSG (GI_MSG_MGMT + 210)

struct gd_prepared {
  struct gi_list link; /* gd.prepared */
  char *path;
  struct gi_gfid volume;
  int64_t lock; /* revision of the lock that it was ordered under; 0: this node is alone */
  bool was_there;
  struct gd_brick_was was;
};

/* ---- its file ---- */

static char *
path_of(const struct gd *gd)
{
  return gi_asprintf("%s/prepared", gd->config.workdir);
}

json_t *
gd_xattr_was_doc(const struct gd_xattr_was *w)
{
  char hex[2 * sizeof(w->value) + 1] = "";
  gd_hex(w->value, w->len, hex);
  return json_pack("{s:b,s:s}", "set", w->set, "value", hex);
}

void
gd_xattr_was_read(const json_t *doc, struct gd_xattr_was *w)
{
  const char *hex = json_string_value(json_object_get(doc, "value"));
  size_t n = hex ? strlen(hex) / 2 : 0;
  w->set = json_is_true(json_object_get(doc, "set")) && n <= sizeof(w->value) && gd_unhex(hex, w->value, n);
  w->len = w->set ? n : 0;
}

static int
save(const struct gd *gd, struct gi_error *err)
{
  GI_CLEANUP_FREE char *path = path_of(gd);
  char id[GI_UUID_TEXT];
  if (gi_list_empty(&gd->prepared))
    return unlink(path) && errno != ENOENT ? gi_error_set(err, errno, "cannot remove %s: %s", path, strerror(errno)) : 0;
  json_t *list = json_array();
  gi_list_foreach(p, &gd->prepared, struct gd_prepared, link)
    json_array_append_new(list, json_pack("{s:s,s:s,s:I,s:b,s:o,s:o}", "path", p->path, "volume", gi_gfid_text(&p->volume, id),
                                          "lock", (json_int_t)p->lock, "was-there", p->was_there, "id",
                                          gd_xattr_was_doc(&p->was.id), "dirty", gd_xattr_was_doc(&p->was.dirty)));
  char *text = json_dumps(list, JSON_INDENT(1));
  int ret = gd_write_file(path, text, strlen(text), false, err);
  free(text);
  json_decref(list);
  return ret;
}

static void
keep(const struct gd *gd)
{
  struct gi_error err = {0};
  if (save(gd, &err))
    gi_log(GI_LOG_ERROR, GD_NAME, MSG, "%s", err.text);
}

static void
prepared_free(struct gd_prepared *p)
{
  gi_list_del(&p->link);
  gi_free(p->path);
  gi_free(p);
}

void
gd_prepared_load(struct gd *gd)
{
  GI_CLEANUP_FREE char *path = path_of(gd);
  json_error_t why;
  if (access(path, F_OK) != 0)
    return;
  json_t *list = json_load_file(path, JSON_REJECT_DUPLICATES, &why), *doc;
  size_t i;
  if (!list)
    gi_log(GI_LOG_ERROR, GD_NAME, MSG, "%s cannot be read: %s", path, why.text);
  json_array_foreach(list, i, doc)
  {
    const char *dir = json_string_value(json_object_get(doc, "path")), *id = json_string_value(json_object_get(doc, "volume"));
    struct gi_gfid volume;
    if (!dir || *dir != '/' || !id || !gi_gfid_parse(id, &volume))
      continue;
    struct gd_prepared *p = gi_new(struct gd_prepared);
    *p = (struct gd_prepared){
        .path = gi_strdup(dir), .volume = volume, .lock = json_integer_value(json_object_get(doc, "lock"))};
    p->was_there = json_is_true(json_object_get(doc, "was-there"));
    gd_xattr_was_read(json_object_get(doc, "id"), &p->was.id);
    gd_xattr_was_read(json_object_get(doc, "dirty"), &p->was.dirty);
    gi_list_add_tail(&gd->prepared, &p->link);
  }
  json_decref(list);
}

void
gd_prepared_let_go(struct gd *gd)
{
  gi_list_foreach_safe(p, &gd->prepared, struct gd_prepared, link)
    prepared_free(p);
}

/* ---- what becomes of it ---- */

static void
undo(const struct gd_prepared *p)
{
  gd_brick_unmark(p->path, &p->was);
  if (!p->was_there)
    rmdir(p->path);
}

static struct gd_prepared *
find(struct gd *gd, const char *path)
{
  gi_list_foreach(p, &gd->prepared, struct gd_prepared, link)
    if (strcmp(p->path, path) == 0)
      return p;
  return NULL;
}

int
gd_prepared_add(struct gd *gd, const char *path, const struct gi_gfid *volume, int64_t lock, struct gi_error *err)
{
  struct gd_prepared *p = find(gd, path);
  if (p) { /* of one who did not come back */
    undo(p);
    prepared_free(p);
  }
  p = gi_new(struct gd_prepared);
  *p = (struct gd_prepared){.path = gi_strdup(path), .volume = *volume, .lock = lock};
  p->was_there = access(path, F_OK) == 0;
  gd_brick_look(path, &p->was);
  gi_list_add_tail(&gd->prepared, &p->link);
  if (!save(gd, err))
    return 0;
  prepared_free(p);
  return -1;
}

void
gd_prepared_undone(struct gd *gd, const char *path)
{
  struct gd_prepared *p = find(gd, path);
  if (!p)
    return;
  prepared_free(p);
  keep(gd);
}

static bool
in_force(const struct gd *gd, const struct gd_prepared *p)
{
  gi_list_foreach(v, &gd->volumes, struct gd_volume, link)
    for (unsigned i = 0; i < v->nbricks && gi_gfid_equal(&v->id, &p->volume); i++)
      if (gi_gfid_equal(&v->bricks[i].node, &gd->uuid) && strcmp(v->bricks[i].path, p->path) == 0)
        return true;
  return false;
}

void
gd_prepared_settle(struct gd *gd, int64_t revision, int64_t lock)
{
  bool changed = false;
  gi_list_foreach_safe(p, &gd->prepared, struct gd_prepared, link) {
    bool is = in_force(gd, p);
    if (!is && (p->lock == lock || p->lock > revision)) /* it is held, or was taken later */
      continue;
    if (!is) {
      gi_log(GI_LOG_WARNING, GD_NAME, MSG + 1, "nothing came of the brick %s: its directory is as it was", p->path);
      undo(p);
    }
    prepared_free(p);
    changed = true;
  }
  if (changed)
    keep(gd);
}
