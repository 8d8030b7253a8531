/* SPDX-License-Identifier: Apache-2.0
 *
 * A rename that replaces what is on another subvolume has a moment in which both
 * have a file of the new name. Who is killed then leaves one where no lookup comes,
 * and listings show both. So the file that is renamed carries a note of its two
 * names meanwhile. A lookup that finds a file with a note takes the locks of the
 * rename, and if the note is still there it is nobody's any more: what the rename
 * has decided is carried out, or what it had begun is taken back.
 *
 * A directory carries it on all subvolumes, for each renames its own. The note
 * says which of them decides (rename-dir.c).
 */
#include "xlators/cluster/distribute/di.h"

#include "libglusterish/log.h"
#include "libglusterish/mutants.h"

#include <errno.h>

/* Of each name: the gfid of the directory as text, the name, NUL. */
#define NAME_BYTES (GI_UUID_TEXT - 1 + GI_NAME_MAX + 1)
/* Two of them; of a directory the name of a subvolume comes third. */
#define NOTE_BYTES (2 * NAME_BYTES + GI_NAME_MAX + 1)

struct note {
  struct di *d;
  struct gi_fop *fop; /* a RENAME between the two names, which is never sent */
  struct gi_gfid gfid;
  unsigned child; /* where the file is; of a directory: any that has the note */
  bool dir;
  int decides; /* of a directory: the subvolume that does; -1: it has left */
  unsigned src_hashed, dst_hashed;
};

/* ---- made and dropped by who renames ---- */

static uint32_t
write_name(char *to, const struct gi_loc *loc)
{
  char text[GI_UUID_TEXT];

  gi_gfid_text(loc->parent ? &loc->parent->gfid : &loc->pargfid, text);
  return (uint32_t)snprintf(to, NAME_BYTES, "%s%s", text, loc->name) + 1;
}

/* `decides`: of a directory; else NULL. */
static struct gi_fop *
make_fop(struct di *d, struct gi_fop *fop, const struct gi_gfid *gfid, const char *decides)
{
  struct gi_fop *h = di_own_fop(fop, GI_FOP_SETXATTR, gfid);
  char value[NOTE_BYTES];
  uint32_t len;

  GI_ASSERT(strlen(fop->loc.name) <= GI_NAME_MAX && strlen(fop->loc2.name) <= GI_NAME_MAX);
  GI_ASSERT(!decides || strlen(decides) <= GI_NAME_MAX);
  len = write_name(value, &fop->loc);
  len += write_name(value + len, &fop->loc2);
  if (decides)
    len += (uint32_t)snprintf(value + len, sizeof(value) - len, "%s", decides) + 1;
  h->args.dict = gi_dict_new();
  gi_dict_set_bin(h->args.dict, d->note_key, value, len);
  return h;
}

int
di_note_make(struct di *d, struct gi_fop *fop, const struct gi_gfid *gfid, unsigned child)
{
  return di_do_drop(d, make_fop(d, fop, gfid, NULL), child);
}

int
di_note_make_all(struct di *d, struct gi_fop *fop, const struct gi_gfid *gfid, unsigned decides)
{
  struct gi_fop *h = make_fop(d, fop, gfid, d->x->children[decides]->name);
  struct di_ask ask;
  int err;

  di_ask_copy(d, &ask, h, di_all(d));
  err = di_ask_refusal(&ask); /* a subvolume that does not have it renames nothing */
  if (err)
    di_note_drop_all(d, fop, gfid);
  di_ask_end(&ask);
  gi_fop_unref(h);
  return err;
}

static struct gi_fop *
drop_fop(struct di *d, struct gi_fop *fop, const struct gi_gfid *gfid)
{
  struct gi_fop *h = di_own_fop(fop, GI_FOP_REMOVEXATTR, gfid);

  h->args.name = d->note_key;
  return h;
}

void
di_note_drop(struct di *d, struct gi_fop *fop, const struct gi_gfid *gfid, unsigned child)
{
  GI_IGNORE(di_do_drop(d, drop_fop(d, fop, gfid), child)); /* then a lookup does */
}

void
di_note_drop_all(struct di *d, struct gi_fop *fop, const struct gi_gfid *gfid)
{
  struct gi_fop *h = drop_fop(d, fop, gfid);
  struct di_ask ask;

  di_ask_copy(d, &ask, h, di_all(d)); /* where it stays a lookup drops it */
  di_ask_end(&ask);
  gi_fop_unref(h);
}

/* ---- read by who finds it ---- */

/* False: it is none. */
static bool
read_name(struct note *n, unsigned i, const char *bytes, size_t len)
{
  struct gi_loc *loc = i == 0 ? &n->fop->loc : &n->fop->loc2;
  char text[GI_UUID_TEXT];
  const char *name = bytes + GI_UUID_TEXT - 1;

  if (len <= GI_UUID_TEXT || len > NAME_BYTES || strchr(name, '/'))
    return false;
  memcpy(text, bytes, GI_UUID_TEXT - 1);
  text[GI_UUID_TEXT - 1] = '\0';
  if (!gi_gfid_parse(text, &loc->pargfid) || gi_gfid_is_none(&loc->pargfid))
    return false;
  loc->name =
      gi_fop_strdup(n->fop, name, strlen(name)); /* operations for this one have it, and may outlive what reads the note */
  loc->parent = gi_inode_get(n->d->x->graph, &loc->pargfid);
  return true;
}

/* The string behind `at`; NULL: there is none that ends before `end`. */
static const char *
next_string(const char *at, const char *end)
{
  const char *next = at ? at + strlen(at) + 1 : NULL;

  return next && next < end ? next : NULL;
}

static bool
read_note(struct note *n, const struct gi_fop *reply)
{
  const void *value;
  const char *first, *second, *third, *end;
  uint32_t len;

  if (!gi_dict_get_bin(reply->rsp.xdata, n->d->note_key, &value, &len) || len == 0 || ((const char *)value)[len - 1] != '\0')
    return false;
  first = value;
  end = first + len;
  second = next_string(first, end);
  third = next_string(second, end);
  if (!second || !third != !n->dir || next_string(third ? third : second, end))
    return false;
  n->decides = third ? di_by_name(n->d, third) : -1;
  return read_name(n, 0, first, strlen(first) + 1) && read_name(n, 1, second, strlen(second) + 1);
}

/* ---- under the locks ---- */

static bool
is_file(const struct note *n, const struct di_found *f, unsigned child)
{
  return (f->file >> child & 1) && gi_gfid_equal(&gi_fan_reply(&f->ask.fan, child)->rsp.stat.gfid, &n->gfid);
}

static bool
is_linkto(const struct note *n, const struct di_found *f, unsigned child)
{
  return (f->linkto >> child & 1) && gi_gfid_equal(&gi_fan_reply(&f->ask.fan, child)->rsp.stat.gfid, &n->gfid);
}

static int
remove_file(struct note *n, const struct gi_loc *loc, unsigned child)
{
  struct gi_fop *h = di_helper(n->fop, GI_FOP_UNLINK);
  int err;

  gi_loc_copy(&h->loc, loc);
  err = di_do_drop(n->d, h, child);
  return err == ENOENT ? 0 : err;
}

/* It was decided, and perhaps not on the disks. */
static int
sync_decision(struct note *n)
{
  int err = di_dir_sync(n->d, n->fop, &n->fop->loc2, n->child);

  return err || n->dst_hashed == n->child ? err : di_dir_sync(n->d, n->fop, &n->fop->loc2, n->dst_hashed);
}

/* It was decided: the old name goes, and what had the new one elsewhere. */
static int
carry_out(struct note *n, const struct di_found *src, const struct di_found *dst)
{
  struct gi_fop *fop = n->fop;
  int err = sync_decision(n);

  GI_ASSERT(is_file(n, dst, n->child));
  di_foreach(i, dst->file) if (i != n->child && !err) err = remove_file(n, &fop->loc2, (unsigned)i);
  if (!err && is_file(n, src, n->child))
    err = remove_file(n, &fop->loc, n->child);
  di_foreach(k, src->linkto) if (!err && is_linkto(n, src, (unsigned)k)) err =
      di_linkto_remove(n->d, fop, &fop->loc, (unsigned)k, false);
  return err == ENOENT ? 0 : err;
}

/* It was not: what has the new name keeps it, and if that was removed since, nothing has. */
static int
take_back(struct note *n, const struct di_found *src, const struct di_found *dst)
{
  return is_file(n, src, n->child) && is_file(n, dst, n->child) ? remove_file(n, &n->fop->loc2, n->child) : 0;
}

/* The new name is the file's where it belongs, or a linkto file leads there from where it belonged then. If it belongs where the file is by now, and
 * did not when the file got it as a further name, the old one is there still. */
static bool
is_decided(const struct note *n, const struct di_found *src, const struct di_found *dst)
{
  if (!is_file(n, dst, n->child))
    return false;
  di_foreach(i, dst->linkto) if (is_linkto(n, dst, (unsigned)i)) return true;
  return n->dst_hashed == n->child && !is_file(n, src, n->child);
}

static int
judge(struct note *n)
{
  struct di_found src, dst;
  int err;

  di_find(n->d, n->fop, &n->fop->loc, di_all(n->d), &src);
  di_find(n->d, n->fop, &n->fop->loc2, di_all(n->d), &dst);
  err = src.failed || dst.failed ? ENOTCONN : is_decided(n, &src, &dst) ? carry_out(n, &src, &dst) : take_back(n, &src, &dst);
  di_found_end(&src);
  di_found_end(&dst);
  return err;
}

/* Nobody has taken it away meanwhile. */
static bool
still_there(struct note *n)
{
  struct gi_loc object = {.gfid = n->gfid};
  struct di_found f;
  bool there;

  di_find(n->d, n->fop, &object, n->dir ? di_all(n->d) : 1ull << n->child, &f);
  there = n->dir ? di_found_note(n->d, &f) >= 0
                 : f.file && gi_dict_get(gi_fan_reply(&f.ask.fan, n->child)->rsp.xdata, n->d->note_key);
  di_found_end(&f);
  return there;
}

static int
end_rename(struct note *n)
{
  int err = n->dir ? di_rename_dir_end(n->d, n->fop, &n->gfid, n->decides) : judge(n);

  if (err)
    return err;
  if (n->dir)
    di_note_drop_all(n->d, n->fop, &n->gfid);
  else
    di_note_drop(n->d, n->fop, &n->gfid, n->child);
  return 0;
}

static int
settle(struct note *n)
{
  struct gi_loc object = {.gfid = n->gfid};
  struct di_locks locks = {0};
  int err = n->dir ? 0 : di_lock(n->d, n->fop, &locks, DI_LOCK_MIGRATE, n->child, &object, NULL);

  if (!err)
    err = di_hashed_complete(n->d, n->fop, &n->fop->loc, &n->src_hashed);
  if (!err)
    err = di_hashed_complete(n->d, n->fop, &n->fop->loc2, &n->dst_hashed);
  if (!err)
    err = di_lock_names(n->d, n->fop, &locks, n->src_hashed, n->dst_hashed);
  if (!err && still_there(n))
    err = end_rename(n);
  di_unlock(n->d, n->fop, &locks);
  return err;
}

void
di_note_know(struct di *d, const struct gi_gfid *gfid, bool noted)
{
  struct gi_inode *inode;

  if (gi_gfid_is_none(gfid))
    return;
  inode = gi_inode_get(d->x->graph, gfid);
  di_inode_of(d, inode)->noted = noted;
  gi_inode_unref(&inode);
}

int
di_note_hinders(struct di *d, const struct gi_gfid *gfid)
{
  struct gi_inode *inode = gi_inode_find(d->x->graph, gfid);
  bool noted = inode && di_inode_of(d, inode)->noted;

  gi_inode_unref(&inode);
  return noted ? ENOTCONN : 0;
}

int
di_note_settle(struct di *d, struct gi_fop *fop, const struct gi_fop *reply, unsigned child)
{
  struct note n = {.d = d,
                   .fop = di_helper(fop, GI_FOP_RENAME),
                   .gfid = reply->rsp.stat.gfid,
                   .child = child,
                   .dir = S_ISDIR(reply->rsp.stat.mode)};
  int err = 0;

  GI_ASSERT(child < d->n && !gi_gfid_is_none(&n.gfid));
  if (!GI_BROKEN("drop the note of a rename that did not end") && read_note(&n, reply)) {
    err = settle(&n);
    gi_log(GI_LOG_INFO, d->x->name, GI_MSG_DISTRIBUTE + 9, "a rename of %s to %s that did not end: %s", n.fop->loc.name,
           n.fop->loc2.name, err ? strerror(err) : "settled");
  } else {
    di_note_drop(d, fop, &n.gfid, child); /* it says nothing, at least there */
  }
  gi_fop_unref(n.fop);
  return err;
}
