/* SPDX-License-Identifier: Apache-2.0
 *
 * Resolving split brains (replicate.md 7.11). The decision travels as two keys
 * in the extra data of lookups, which settle names whose gfids differ, and of a
 * getxattr, which heals the object; nothing of it leaves this process, for the
 * replica sets of this graph do the work.
 */
#include "programs/heal/heal.h"

#include "libglusterish/heal-op.h"
#include "libglusterish/task.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static const char *
word(enum heal_command command)
{
  return command == HEAL_BIGGER_FILE ? "bigger-file" : command == HEAL_LATEST_MTIME ? "latest-mtime" : "source-brick";
}

/* Caller unreferences. */
static struct gi_dict *
decision(const struct heal *h, const struct heal_brick *source)
{
  struct gi_dict *d = gi_dict_new();
  gi_dict_set_int(d, "heal-op",
                  h->command == HEAL_BIGGER_FILE    ? GI_HEAL_BIGGER_FILE
                  : h->command == HEAL_LATEST_MTIME ? GI_HEAL_LATEST_MTIME
                                                    : GI_HEAL_SOURCE_BRICK);
  if (source)
    gi_dict_set_str(d, "child-name", source->client->name);
  return d;
}

/* The reason a replica set gave; NULL: none. */
static const char *
message(const struct gi_fop *reply, const char *key)
{
  const char *text = NULL;
  if (!gi_dict_get_str(reply->rsp.dict, key, &text))
    gi_dict_get_str(reply->rsp.xdata, key, &text);
  return text && *text ? text : NULL;
}

/* ---- one object ---- */

struct object {
  struct heal_set *set;
  struct gi_gfid gfid;
  uint32_t mode;
  char *settled; /* what the set said about a name whose gfids differed; NULL: nothing. gi_free */
};

/* Heals it. 0; or an errno and the reason the set gave (lives as long as *reply; NULL: none, the errno says it). */
static int
heal_object(struct heal *h, struct gi_xlator *set, const struct gi_gfid *gfid, struct gi_dict *how, const char **why,
            struct gi_fop **reply)
{
  int err = heal_getxattr(h, set, gfid, "glusterfs.heal-sbrain", how, reply);
  *why = message(*reply, "sh-fail-msg");
  return err || !*why ? err : EIO;
}

/* Says that it failed; the exit status. */
static int
tell_failure(struct heal *h, const char *what, int err, const char *why)
{
  if (why)
    heal_report_line(&h->report, "Healing %s failed: %s.", what, why);
  else
    heal_report_line(&h->report, "Healing %s failed:%s.", what, strerror(err));
  return why ? 1 : err;
}

static bool
not_split(const char *why)
{
  return why && strcmp(why, "File not in split-brain") == 0;
}

/* ---- finding it ---- */

static int
lookup(struct heal *h, struct heal_set *set, const struct gi_gfid *parent, const char *name, struct gi_dict *how,
       struct object *o)
{
  struct gi_fop *fop = heal_fop(h, GI_FOP_LOOKUP, name ? NULL : &o->gfid);
  if (name) {
    struct gi_inode *dir = gi_inode_get(h->top->graph, parent);
    gi_fop_set_entry(fop, &fop->loc, dir, name);
    gi_inode_unref(&dir);
  }
  fop->xdata = gi_dict_ref(how);
  gi_task_fop(fop, set->xlator);
  int err = fop->rsp.ret < 0 ? fop->rsp.err : 0;
  const char *said = message(fop, "gfid-heal-msg");
  gi_free(o->settled);
  o->settled = said ? gi_strdup(said) : NULL;
  if (!err) {
    o->gfid = fop->rsp.stat.gfid;
    o->mode = fop->rsp.stat.mode;
  }
  gi_fop_unref(fop);
  return err;
}

/* Follows "/a/b/c" from the root; every step may settle a name. */
static int
walk(struct heal *h, struct heal_set *set, const char *path, struct gi_dict *how, struct object *o)
{
  GI_CLEANUP_FREE char *copy = gi_strdup(path);
  char *save = NULL;
  o->gfid = gi_gfid_root;
  o->mode = S_IFDIR;
  for (char *name = strtok_r(copy, "/", &save); name; name = strtok_r(NULL, "/", &save)) {
    struct gi_gfid parent = o->gfid;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strlen(name) > GI_NAME_MAX)
      return EINVAL; /* it would lead out of the volume, or nowhere */
    if (!S_ISDIR(o->mode))
      return ENOTDIR;
    int err = lookup(h, set, &parent, name, how, o);
    if (err)
      return err;
  }
  return 0;
}

/* In the replica set that has it. */
static int
find(struct heal *h, struct gi_dict *how, struct object *o)
{
  bool by_gfid = strncmp(h->file, "gfid:", 5) == 0;
  int err = ENOENT;
  if (by_gfid && (!gi_gfid_parse(h->file + 5, &o->gfid) || gi_gfid_is_none(&o->gfid)))
    return EINVAL;
  for (unsigned i = 0; i < h->nsets && (err == ENOENT || err == ESTALE); i++) {
    o->set = &h->set[i];
    err = by_gfid ? lookup(h, o->set, NULL, NULL, how, o) : walk(h, o->set, h->file, how, o);
  }
  return err == ESTALE ? ENOENT : err;
}

/* ---- with FILE ---- */

/* The exit status that scripts know: a path that does not exist gives EINVAL, a gfid ENOENT. */
static int
not_found(struct heal *h, const struct object *o, int err)
{
  bool by_gfid = strncmp(h->file, "gfid:", 5) == 0;
  if (o->settled) { /* "No bigger file", "No difference in mtime": of the name, which the set does not know as the user does */
    bool none = strncmp(o->settled, "No ", 3) == 0;
    heal_report_line(&h->report, "Healing %s failed: %s%s%s.", h->file, o->settled, none ? " for file " : "",
                     none ? h->file : "");
    err = 1;
  } else {
    heal_report_line(&h->report, "Lookup failed on %s:%s.", h->file, strerror(err));
    err = by_gfid ? err : EINVAL;
  }
  heal_report_end(&h->report, err, "");
  return err;
}

static int
finish(struct heal *h, int err)
{
  heal_report_end(&h->report, err, "");
  return err ? 1 : 0;
}

static int
heal_file(struct heal *h, struct gi_dict *how, struct object *o)
{
  struct gi_fop *reply;
  const char *why;
  int err = find(h, how, o);
  if (err)
    return not_found(h, o, err);
  if (S_ISDIR(o->mode) && h->command != HEAL_SOURCE_BRICK) {
    heal_report_line(&h->report, "'%s' not a valid option for directories.", word(h->command));
    return finish(h, EINVAL);
  }
  if (o->settled) /* the set knows the name only, the user typed the path */
    heal_report_line(&h->report, "GFID split-brain resolved for file %s", h->file);
  if (S_ISDIR(o->mode))
    heal_report_line(&h->report, "'source-brick' option used on a directory (%s). Performing conservative merge.", h->file);
  err = heal_object(h, o->set->xlator, &o->gfid, how, &why, &reply);
  if (err && o->settled && not_split(why))
    err = 0; /* the name was all that was wrong */
  else if (err)
    err = tell_failure(h, h->file, err, why);
  else
    heal_report_line(&h->report, "Healed %s.", h->file);
  gi_fop_unref(reply);
  heal_report_end(&h->report, err, "");
  return err;
}

/* ---- the whole index of a source brick ---- */

struct whole {
  struct gi_dict *how;
  uint64_t healed, failed;
};

static void
heal_one(struct heal *h, struct heal_brick *b, const struct gi_gfid *dir, const struct gi_gfid *gfid, void *arg)
{
  struct whole *w = arg;
  char text[GI_UUID_TEXT];
  struct gi_fop *reply;
  const char *why;
  int err = heal_object(h, b->set->xlator, gfid, w->how, &why, &reply);
  gi_gfid_text(gfid, text);
  w->healed += err == 0;
  if (!err) {
    heal_report_line(&h->report, "Healed gfid:%s.", text);
  } else if (!not_split(why) && err != ENOENT && err != ESTALE) {
    w->failed++;
    GI_CLEANUP_FREE char *what = gi_asprintf("gfid:%s", text);
    tell_failure(h, what, err, why);
  }
  gi_fop_unref(reply);
}

static int
end_whole(struct heal *h, int err, uint64_t healed)
{
  heal_report_line(&h->report, "Status: %s", err ? strerror(err) : "Connected");
  if (err)
    heal_report_line(&h->report, "Number of healed entries: -");
  else
    heal_report_line(&h->report, "Number of healed entries: %llu", (unsigned long long)healed);
  if (h->report.form != HEAL_JSON)
    heal_report_line(&h->report, "%s", "");
  return finish(h, err);
}

static int
heal_whole(struct heal *h, struct heal_brick *source, struct gi_dict *how)
{
  struct whole w = {.how = how};
  int err = heal_connected(h, source) ? heal_index_list(h, source, HEAL_INDEX_PENDING, heal_one, &w) : ENOTCONN;
  return end_whole(h, err, w.healed);
}

int
heal_split(struct heal *h)
{
  struct heal_brick *source = h->brick ? heal_find_brick(h, h->brick) : NULL;
  struct object o = {0};
  if (h->brick && !source) {
    heal_report_line(&h->report, "\"%s\"- No such brick available in the volume.", h->brick);
    return h->file ? finish(h, EPERM) : end_whole(h, EPERM, 0);
  }
  if (h->file && *h->file != '/' && strncmp(h->file, "gfid:", 5) != 0) {
    heal_report_line(&h->report, "<FILE> must be absolute path w.r.t. the volume, starting with '/'");
    return finish(h, EINVAL);
  }
  struct gi_dict *how = decision(h, source);
  int err = h->file ? heal_file(h, how, &o) : heal_whole(h, source, how);
  gi_dict_unref(&how);
  gi_free(o.settled);
  return err;
}
