/* SPDX-License-Identifier: Apache-2.0
 *
 * Making and removing one name on the children that need it: a healer's version
 * of mkdir, mknod, link, rename and unlink (replicate.md 7.5, 7.8).
 *
 * The order of steps makes an interruption safe. Before an object is made on a
 * child, those who have it mark it as missing there, so an empty copy is never
 * taken for a good one. An object that a child has to lose goes to the anonymous
 * directory as long as other children have it.
 */
#include "xlators/cluster/replicate/heal/names.h"

#include "libglusterish/probe.h"

/* ---- turns: one at a time works on the names of an object ---- */

struct turn {
  struct gi_list link;
  struct gi_gfid gfid;
  struct gi_task *task;
};

static struct turn *
first_turn(struct rep *rep, const struct gi_gfid *gfid)
{
  gi_list_foreach(t, &rep->heal_turns, struct turn, link)
    if (gi_gfid_equal(&t->gfid, gfid))
      return t;
  return NULL;
}

static void
turn_take(struct rep_heal *h, struct turn *turn, const struct gi_gfid *gfid)
{
  turn->gfid = *gfid;
  turn->task = gi_task_self(h->r);
  gi_list_add_tail(&h->rep->heal_turns, &turn->link);
  while (first_turn(h->rep, gfid) != turn)
    gi_task_wait(h->r);
}

static void
turn_give(struct rep_heal *h, struct turn *turn)
{
  struct turn *next;

  gi_list_del(&turn->link);
  next = first_turn(h->rep, &turn->gfid);
  if (next)
    gi_task_wake(next->task);
}

/* ---- requests ---- */

static struct gi_fop *
named_fop(struct rep_name *n, enum gi_fop_kind kind)
{
  struct gi_fop *fop = rep_heal_fop(n->h, kind);

  gi_fop_set_entry(fop, &fop->loc, n->parent, n->name);
  return fop;
}

/* The same about the object that child `i` shows there: a brick of ours refuses (ESTALE) to move or remove another one. */
static struct gi_fop *
object_fop(struct rep_name *n, enum gi_fop_kind kind, unsigned i)
{
  struct gi_fop *fop = named_fop(n, kind);
  const struct gi_gfid *gfid = &n->view.stat[i].gfid;

  GI_ASSERT((n->view.ok >> i) & 1); /* it was seen there */
  gi_dict_set_gfid(gi_fop_xdata(fop), GI_EXPECTED_KEY, gfid);
  if (!gi_gfid_is_none(gfid)) {
    fop->loc.gfid = *gfid;
    fop->loc.inode = gi_inode_get(n->h->rep->x->graph, gfid);
  }
  return fop;
}

static int
child_error(struct rep_name *n, unsigned i, int err)
{
  GI_ASSERT(i < n->h->rep->n && err >= 0);
  n->failed |= 1u << i;
  return -(err ? err : EIO);
}

/* Notes which children failed, and which answered for another object than `want`. */
static int
note_replies(struct rep_name *n, const struct gi_fan *fan, const struct gi_gfid *want)
{
  int err = 0;

  rep_foreach(i, fan->failed) err = child_error(n, i, gi_fan_reply(fan, i)->rsp.err);
  rep_foreach(i, fan->ok) if (want && !gi_gfid_equal(&gi_fan_reply(fan, i)->rsp.stat.gfid, want)) err = child_error(n, i, EIO);
  return err;
}

static int
run_on(struct rep_name *n, struct gi_fop *fop, uint32_t mask, const struct gi_gfid *want)
{
  struct gi_fan fan;
  int err;

  rep_heal_fan(n->h, fop, mask, &fan);
  err = note_replies(n, &fan, want);
  gi_fan_clear(&fan);
  return err;
}

/* ---- recreating ---- */

struct making {
  unsigned from;
  const struct gi_iatt *st;
  uint32_t owners; /* children that have it under the name */
  uint32_t known;  /* children that lack the name and have the object elsewhere */
  uint32_t old;    /* of these, those that have what it was before it was removed */
  uint32_t blamed; /* children that lack the name, and every owner has marked the object as missing there */
};

static bool
says_missing(const struct rep_name *n, unsigned i, unsigned j, uint32_t mode)
{
  const struct rep_view *v = &n->view;
  bool marker = S_ISREG(mode) || (S_ISDIR(mode) && rep_opts(n->h->rep)->granular_entry_heal);

  return v->pending[REP_META][i][j] && (!marker || v->pending[REP_DATA][i][j]) &&
         (!S_ISDIR(mode) || v->pending[REP_ENTRY][i][j]);
}

static uint32_t
blamed_by_all(const struct rep_name *n, const struct making *m, uint32_t on)
{
  uint32_t set = on;

  rep_foreach(j, on) rep_foreach(i, m->owners) if (!says_missing(n, i, j, m->st->mode)) set &= ~(1u << j);
  return set;
}

/* What an owner has is a linkto file, and child `i` still has the file that was here before, of the same gfid. Who made the linkto file died
 * before he marked that. */
static bool
is_old(const struct making *m, const struct rep_view *v, unsigned i)
{
  rep_foreach(j, m->owners) if (v->pending[REP_DATA][i][j] || v->pending[REP_META][i][j]) return false;
  return rep_may_be_linkto(m->st) && !rep_may_be_linkto(&v->stat[i]);
}

/* Notes which children of `ask` have the object. A child that cannot tell has failed. */
static int
find_known(struct rep_name *n, struct making *m, uint32_t ask)
{
  struct rep_view v;
  int err = 0;

  if (!ask)
    return 0;
  rep_view_gfid(n->h, &m->st->gfid, ask, &v);
  m->known = v.ok;
  rep_foreach(k, v.ok) if (is_old(m, &v, k)) m->old |= 1u << k;
  rep_foreach(i, ask & ~v.ok) if (v.err[i] != ENOENT && v.err[i] != ESTALE) err = child_error(n, i, v.err[i]);
  rep_view_clear(&v);
  return err;
}

/* The owners mark the object as missing on the children of `on`, and bring the mark to their disks: the new object may be durable at any
 * time, and without the mark it would pass for a good copy although it lacks everything. */
static int
mark_missing(struct rep_name *n, const struct making *m, uint32_t on)
{
  struct rep *rep = n->h->rep;
  struct gi_inode *inode;
  struct gi_fop *fop;
  uint32_t ok;

  if (!on)
    return 0;
  inode = gi_inode_get(rep->x->graph, &m->st->gfid);
  fop = rep_heal_inode_fop(n->h, GI_FOP_XATTROP, inode);
  gi_inode_unref(&inode);
  fop->args.flags = GI_XATTROP_ADD32;
  fop->args.dict = rep_marks_new_object(rep, on, m->st->mode, rep_opts(rep)->granular_entry_heal);
  if (rep_opts(rep)->ensure_durability)
    gi_dict_set_int(gi_fop_xdata(fop), GI_DURABLE_KEY, 1);
  ok = rep_heal_all(n->h, fop, m->owners);
  if (ok == m->owners)
    return 0;
  n->failed |= on;
  return -EIO;
}

static bool
is_accused(const struct rep_name *n, const struct making *m, enum rep_type type, unsigned j)
{
  rep_foreach(i, m->owners) if (i != j && n->view.pending[type][i][j]) return true;
  return false;
}

/* What good owners hold against the others the new object holds against them, too: who reaches it and one of them, and no good one, would take what that
 * has for good, as it has marked the new one as missing. */
static void
add_accusations(const struct rep_name *n, const struct making *m, struct gi_dict *xdata)
{
  rep_foreach(j, m->owners)
  {
    int32_t slot[REP_TYPES] = {0};
    bool any = false;

    for (enum rep_type type = 0; type < REP_TYPES; type++)
      rep_foreach(i, m->owners) if (i != j && n->view.pending[type][i][j] && !is_accused(n, m, type, (unsigned)i))
      {
        slot[type] = n->view.pending[type][i][j];
        any = true;
      }
    if (any)
      rep_marks_set(xdata, n->h->rep->pending_key[j], slot);
  }
}

static int
make_directory(struct rep_name *n, const struct making *m, uint32_t on)
{
  struct gi_fop *fop = named_fop(n, GI_FOP_MKDIR);

  fop->args.mode = m->st->mode & 07777;
  gi_dict_set_gfid(gi_fop_xdata(fop), "gfid-req", &m->st->gfid);
  add_accusations(n, m, gi_fop_xdata(fop));
  return run_on(n, fop, on, &m->st->gfid);
}

/* From where it is on the child to the name that is healed. 0 or errno. */
static int
rename_directory(struct rep_name *n, const struct gi_gfid *gfid, unsigned i, struct gi_inode *parent, const char *name)
{
  struct gi_fop *fop = rep_heal_fop(n->h, GI_FOP_RENAME);
  int err;

  GI_ASSERT(parent && name && !gi_gfid_is_none(gfid));
  gi_fop_set_entry(fop, &fop->loc, parent, name);
  fop->loc.gfid = *gfid;
  fop->loc.inode = gi_inode_get(n->h->rep->x->graph, gfid);
  gi_fop_set_entry(fop, &fop->loc2, n->parent, n->name);
  gi_dict_set_gfid(gi_fop_xdata(fop), GI_EXPECTED_KEY, gfid);
  rep_heal_one(n->h, fop, i);
  err = fop->rsp.ret >= 0 ? 0 : fop->rsp.err ? fop->rsp.err : EIO;
  gi_fop_unref(fop);
  return err;
}

/* It went into the anonymous directory with the one that it was in, which was removed. */
static int
rescue_directory(struct rep_name *n, const struct gi_gfid *gfid, unsigned i)
{
  struct gi_inode *parent;
  char *name;
  int err;

  if (!rep_name_left_behind(n, i, gfid, &parent, &name))
    return ENOENT;
  GI_PROBE("replicate: a directory is taken from one that was removed");
  err = rename_directory(n, gfid, i, parent, name);
  gi_inode_unref(&parent);
  gi_free(name);
  return err;
}

/* The directory lost its old name on these children and waits in the anonymous directory. */
static int
move_directory(struct rep_name *n, const struct making *m, uint32_t on)
{
  char text[GI_UUID_TEXT];
  uint32_t there;
  struct gi_inode *anon = rep_anon_make(n->h, on, &there);
  int err = 0;

  gi_gfid_text(&m->st->gfid, text);
  rep_foreach(i, on)
  {
    int one = rename_directory(n, &m->st->gfid, i, anon, text);

    if (one == ENOENT || one == ESTALE)
      one = rescue_directory(n, &m->st->gfid, i);
    if (!one)
      continue;
    err = child_error(n, i, one);
    if (one == ENOENT || one == ESTALE) {
      n->later = true;
      n->elsewhere |= 1u << i;
    }
  }
  gi_inode_unref(&anon);
  return err;
}

/* Children of `on` that had the object under another name: if that is the one in the anonymous directory, it is not needed any more. */
static void
leave_anonymous(struct rep_name *n, const struct making *m, uint32_t on)
{
  char text[GI_UUID_TEXT];
  struct gi_inode *anon;
  struct gi_gfid gfid;

  if (!on || !rep_anon_used(n->h->rep) || !rep_anon_gfid(n->h->rep, &gfid))
    return;
  anon = gi_inode_get(n->h->rep->x->graph, &gfid);
  rep_anon_remove(n->h, anon, gi_gfid_text(&m->st->gfid, text), false, on); /* usually it was another one */
  gi_inode_unref(&anon);
}

static int
link_symlink(struct rep_name *n, const struct making *m, uint32_t on)
{
  struct gi_fop *fop = rep_heal_fop(n->h, GI_FOP_LINK);
  int err;

  fop->loc.gfid = m->st->gfid;
  fop->loc.inode = gi_inode_get(n->h->rep->x->graph, &m->st->gfid);
  gi_fop_set_entry(fop, &fop->loc2, n->parent, n->name);
  err = run_on(n, fop, on, &m->st->gfid);
  leave_anonymous(n, m, on & ~n->failed);
  return err;
}

static int
make_symlink(struct rep_name *n, const struct making *m, uint32_t on)
{
  struct gi_fop *read = object_fop(n, GI_FOP_READLINK, m->from), *fop;
  int err;

  read->args.size = 4096;
  rep_heal_one(n->h, read, m->from);
  if (read->rsp.ret < 0 || !read->rsp.link) {
    err = -(read->rsp.ret < 0 && read->rsp.err ? read->rsp.err : EIO);
    gi_fop_unref(read);
    n->failed |= on;
    return err;
  }
  fop = named_fop(n, GI_FOP_SYMLINK);
  fop->args.link = gi_fop_strdup(fop, read->rsp.link, strlen(read->rsp.link));
  gi_fop_unref(read);
  gi_dict_set_gfid(gi_fop_xdata(fop), "gfid-req", &m->st->gfid);
  add_accusations(n, m, gi_fop_xdata(fop));
  return run_on(n, fop, on, &m->st->gfid);
}

/* Whatever cluster/distribute calls it: the attribute that makes a file of that mode a linkto file. */
static bool
is_linkto_key(const char *key)
{
  static const char begin[] = "trusted.", end[] = ".linkto";
  size_t len = strlen(key);

  return len >= sizeof(begin) + sizeof(end) && strncmp(key, begin, sizeof(begin) - 1) == 0 &&
         strcmp(key + len - (sizeof(end) - 1), end) == 0;
}

/* A linkto file is one at once: until then it would be taken for a file, and not be removed with the others. */
static void
add_linkto(struct rep_name *n, const struct making *m, struct gi_dict *xdata)
{
  struct gi_fop *read = object_fop(n, GI_FOP_GETXATTR, m->from);

  rep_heal_one(n->h, read, m->from);
  for (uint32_t i = 0; read->rsp.ret >= 0 && i < gi_dict_count(read->rsp.dict); i++) {
    const struct gi_pair *p = gi_dict_at(read->rsp.dict, i);
    const uint8_t *value;
    uint32_t len;

    if (is_linkto_key(p->key) && gi_pair_bytes(p, &value, &len))
      gi_dict_set_bin(xdata, p->key, value, len);
  }
  gi_fop_unref(read); /* if it cannot be read the heal of the attributes brings it */
}

/* A brick that has the object links it. One that said so but lost it in between has made an empty one: marked after the fact. */
static int
make_node(struct rep_name *n, const struct making *m, uint32_t on)
{
  struct gi_fop *fop = named_fop(n, GI_FOP_MKNOD);
  uint32_t linked = 0, empty;
  struct gi_fan fan;
  int err;

  fop->args.mode = m->st->mode;
  fop->args.rdev = m->st->rdev;
  gi_dict_set_gfid(gi_fop_xdata(fop), "gfid-req", &m->st->gfid);
  gi_dict_set_int(gi_fop_xdata(fop), "glusterfs-internal-fop", 1);
  if (!(on & m->known)) /* what is linked keeps its own until it is healed */
    add_accusations(n, m, gi_fop_xdata(fop));
  if (rep_may_be_linkto(m->st) && !(on & m->known))
    add_linkto(n, m, gi_fop_xdata(fop));
  rep_heal_fan(n->h, fop, on, &fan);
  err = note_replies(n, &fan, &m->st->gfid);
  rep_foreach(i, fan.ok) if (gi_fan_reply(&fan, i)->rsp.stat.nlink > 1) linked |= 1u << i;
  empty = fan.ok & m->known & ~m->blamed & ~linked;
  gi_fan_clear(&fan);
  leave_anonymous(n, m, linked & ~n->failed);
  return empty ? mark_missing(n, m, empty) : err;
}

static int
make_object(struct rep_name *n, const struct making *m, uint32_t on)
{
  uint32_t old = on & m->known;
  int err = 0, other = 0;

  GI_ASSERT(!(on & (m->owners | n->failed)) && !gi_gfid_is_none(&m->st->gfid));
  if (S_ISDIR(m->st->mode)) {
    old = rep_anon_used(n->h->rep) ? old : 0;
    err = on & ~old ? make_directory(n, m, on & ~old) : 0;
    other = old ? move_directory(n, m, old) : 0;
  } else if (S_ISLNK(m->st->mode)) {
    err = on & ~old ? make_symlink(n, m, on & ~old) : 0;
    other = old ? link_symlink(n, m, old) : 0;
  } else {
    err = on ? make_node(n, m, on) : 0;
  }
  return other ? other : err;
}

static int
recreate(struct rep_name *n, struct making *m, uint32_t on)
{
  bool directory = S_ISDIR(m->st->mode), moves = directory && rep_anon_used(n->h->rep);
  int err, last = 0;
  uint32_t fresh;

  m->blamed = blamed_by_all(n, m, on);
  last = find_known(n, m, directory || S_ISLNK(m->st->mode) ? on : on & ~m->blamed);
  on &= ~n->failed;
  fresh = directory && !moves ? on : on & ~m->known; /* a directory that is made anew elsewhere is empty, known or not */
  if (m->old)
    GI_PROBE("replicate: a linkto file is healed where the file was that had gone");
  err = mark_missing(n, m, (fresh | (m->old & on)) & ~m->blamed);
  if (err)
    last = err;
  err = make_object(n, m, on & ~n->failed);
  return err ? err : last;
}

int
rep_name_recreate(struct rep_name *n, unsigned from, uint32_t owners, uint32_t on)
{
  struct making m = {.from = from, .st = &n->view.stat[from], .owners = owners};
  struct turn turn;
  int err;

  GI_ASSERT(!(on & owners) && !(owners & ~n->view.ok));
  if (gi_gfid_is_none(&m.st->gfid) || !owners) {
    n->failed |= on;
    return -EIO;
  }
  turn_take(n->h, &turn, &m.st->gfid);
  err = recreate(n, &m, on);
  turn_give(n->h, &turn);
  return err;
}

int
rep_name_assign(struct rep_name *n, const struct gi_gfid *gfid, uint32_t on)
{
  struct gi_fop *fop = named_fop(n, GI_FOP_LOOKUP);

  gi_dict_set_gfid(gi_fop_xdata(fop), "gfid-req", gfid);
  return run_on(n, fop, on, gfid);
}

int
rep_name_complete(struct rep_name *n, unsigned from, uint32_t owners, uint32_t on)
{
  struct making m = {.from = from, .st = &n->view.stat[from], .owners = owners};
  int err = mark_missing(n, &m, on & ~blamed_by_all(n, &m, on)), last = rep_name_assign(n, &m.st->gfid, on & ~n->failed);

  return last ? last : err;
}

/* ---- expunging ---- */

static int
remove_name(struct rep_name *n, unsigned i, bool with_all)
{
  bool directory = S_ISDIR(n->view.stat[i].mode);
  struct gi_fop *fop = object_fop(n, directory ? GI_FOP_RMDIR : GI_FOP_UNLINK, i);
  int err = 0;

  fop->args.flags = directory && with_all;
  rep_heal_one(n->h, fop, i);
  if (fop->rsp.ret < 0 && fop->rsp.err != ENOENT)
    err = child_error(n, i, fop->rsp.err);
  gi_fop_unref(fop);
  return err;
}

/* What the others have is a linkto file, with no bytes; child i still has the file that was here before, of the same gfid. */
static bool
has_left(const struct rep_view *v, unsigned i)
{
  rep_foreach(j, v->ok & ~(1u << i)) if (!rep_may_be_linkto(&v->stat[j])) return false;
  return !rep_may_be_linkto(&v->stat[i]);
}

/* Whether an object that child i has to lose goes to the anonymous directory: a directory always, any other object if enough copies have
 * it under some name, unless child i has it under another one, too. What lies there longer than it must is found by who makes it anew. */
static bool
worth_keeping(struct rep_name *n, unsigned i)
{
  struct rep *rep = n->h->rep;
  const struct gi_iatt *st = &n->view.stat[i];
  struct rep_view v;
  bool keep;

  if (gi_gfid_is_none(&st->gfid) || !rep_anon_used(rep))
    return false;
  if (S_ISDIR(st->mode))
    return true;
  if (st->nlink > 1)
    return false;
  rep_view_gfid(n->h, &st->gfid, rep->all, &v);
  keep = rep_no_quorum_configured(rep) ? __builtin_popcount(v.ok) > 1 : rep_quorum(rep, v.ok);
  keep = keep && !has_left(&v, i);
  rep_view_clear(&v);
  return keep;
}

static int
keep_in_anon(struct rep_name *n, unsigned i)
{
  char text[GI_UUID_TEXT];
  uint32_t there;
  struct gi_inode *anon = rep_anon_make(n->h, 1u << i, &there);
  int err = 0;

  gi_gfid_text(&n->view.stat[i].gfid, text);
  if (!there) {
    err = child_error(n, i, EIO);
  } else {
    struct gi_fop *fop = object_fop(n, GI_FOP_RENAME, i);

    gi_fop_set_entry(fop, &fop->loc2, anon, text);
    rep_heal_one(n->h, fop, i);
    if (fop->rsp.ret < 0 && fop->rsp.err != ENOENT)
      err = child_error(n, i, fop->rsp.err);
    gi_fop_unref(fop);
  }
  gi_inode_unref(&anon);
  return err;
}

int
rep_name_expunge(struct rep_name *n, uint32_t on)
{
  int err, last = 0;

  GI_ASSERT(!(on & ~n->view.ok)); /* only what was seen is removed */
  rep_foreach(i, on)
  {
    struct turn turn;

    turn_take(n->h, &turn, &n->view.stat[i].gfid);
    err = worth_keeping(n, i) ? keep_in_anon(n, i) : remove_name(n, i, true);
    turn_give(n->h, &turn);
    if (err)
      last = err;
  }
  return last;
}

int
rep_name_remove_empty(struct rep_name *n, uint32_t on)
{
  int err, last = 0;

  rep_foreach(i, on)
  {
    err = remove_name(n, i, false);
    if (err)
      last = err;
  }
  return last;
}
