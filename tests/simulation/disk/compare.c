/* SPDX-License-Identifier: Apache-2.0
 *
 * The simulated disk: whether a brick is sound, whether two bricks hold the
 * same, and what they hold. It looks at the image directly: no faults, no effects.
 */
#include "tests/simulation/disk/disk-private.h"

#include "libglusterish/bigendian.h"
#include "libglusterish/types.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define KEY_GFID "trusted.gfid"
#define KEY_TIMES "trusted.glusterfs.mdata"
#define MTIME_AT 25 /* brick.md 3.1: version, flags, ctime, mtime, atime */
#define MTIME_LEN 16
#define KEY_LINKTO "trusted.glusterfs.dht.linkto"
#define ANONYMOUS ".glusterfs-anonymous-inode-"

/* What replicas may differ in: their counters, and what the kernel or a daemon of one host keeps. Times are compared by themselves,
 * because each brick has its own times of access and of attribute changes. */
static const char *const ignored[] = {"trusted.afr.", "security.selinux", "trusted.glusterfs.quota.size", "trusted.gfs.squota.",
                                      KEY_TIMES};

/* A brick notes the names of an object in the object itself, so fsync of the directory does not make the note durable. Power lost
 * between the two, or an attribute that cannot be changed after the name was, leaves a note too many or too few. Nothing marks it and
 * nobody heals it: the brick checks the name before it tells a path. */
#define NOTE_OF_NAME "trusted.gfid2path."

struct look {
  char *why;
  size_t len;
  bool crashed, no_notes;
  unsigned but;
  const struct sim_lost_times *lost;
  struct gi_gfid *gfid; /* of every object found: each needs a handle */
  unsigned count, room;
};

static bool __attribute__((format(printf, 2, 3))) differ(struct look *l, const char *fmt, ...)
{
  va_list ap;

  va_start(ap, fmt);
  vsnprintf(l->why, l->len, fmt, ap);
  va_end(ap);
  return false;
}

static bool
gfid_of(const struct sim_inode *i, struct gi_gfid *gfid)
{
  const struct sim_xattr *x = sim_xattr_find(i, KEY_GFID);

  if (!x || x->len != 16)
    return false;
  memcpy(gfid->b, x->value, 16);
  return true;
}

static struct sim_inode *
brick_root(struct sim_disk *d, const char *path, struct look *l)
{
  int err = 0;
  struct sim_inode *i = sim_walk(d, d->root, path, true, NULL, NULL, &err);

  if (!i)
    differ(l, "%s: %s", path, strerror(err));
  return i;
}

/* Directories of the volume that belong to no user: housekeeping, and the one where heals keep objects without a name. */
static bool
private_name(const char *path, const char *name)
{
  return !*path && (strcmp(name, ".glusterfs") == 0 || strncmp(name, ANONYMOUS, sizeof(ANONYMOUS) - 1) == 0);
}

/* ---- names and handles ---- */

static void
remember(struct look *l, const struct gi_gfid *gfid)
{
  if (l->count == l->room) {
    l->room = l->room ? 2 * l->room : 64;
    l->gfid = gi_realloc(l->gfid, l->room * sizeof(struct gi_gfid));
  }
  l->gfid[l->count++] = *gfid;
}

static struct sim_inode *
handle_of(const struct sim_inode *store, const struct gi_gfid *gfid)
{
  char text[GI_UUID_TEXT], part[3] = "";
  struct sim_inode *i;

  gi_gfid_text(gfid, text);
  memcpy(part, text, 2);
  i = sim_entry_find(store, part);
  memcpy(part, text + 2, 2);
  i = i && S_ISDIR(i->attr.mode) ? sim_entry_find(i, part) : NULL;
  return i && S_ISDIR(i->attr.mode) ? sim_entry_find(i, text) : NULL;
}

static bool
handle_fits(struct look *l, const struct sim_inode *store, const struct gi_gfid *parent, const char *path, const char *name,
            const struct sim_inode *i)
{
  char text[GI_UUID_TEXT], p[GI_UUID_TEXT], want[GI_UUID_TEXT + SIM_NAME_MAX + 32];
  struct gi_gfid gfid;
  struct sim_inode *h;

  if (!gfid_of(i, &gfid))
    return differ(l, "%s/%s has no gfid", path, name);
  gi_gfid_text(&gfid, text);
  h = handle_of(store, &gfid);
  if (!h)
    return differ(l, "%s/%s: its gfid %s has no handle", path, name, text);
  if (!S_ISDIR(i->attr.mode))
    return h == i ? true : differ(l, "%s/%s: the handle of its gfid %s is another file", path, name, text);
  gi_gfid_text(parent, p);
  snprintf(want, sizeof(want), "../../%.2s/%.2s/%s/%s", p, p + 2, p, name);
  if (!S_ISLNK(h->attr.mode) || strcmp(h->text, want) != 0)
    return differ(l, "%s/%s: the handle of directory %s says %s, not %s", path, name, text, h->text ? h->text : "(not a link)",
                  want);
  return true;
}

/* `strict`: handles must fit. Otherwise the objects below are only recorded. */
static bool
sound_below(struct look *l, const struct sim_inode *store, const struct sim_inode *dir, const struct gi_gfid *gfid,
            const char *path, bool strict)
{
  for (unsigned n = 0; n < dir->nentries; n++) {
    const struct sim_dirent *e = &dir->entry[n];
    GI_CLEANUP_FREE char *sub = NULL;
    struct gi_gfid own = gi_gfid_none;

    if (strict && !*path && strcmp(e->name, ".glusterfs") == 0)
      continue;
    if (strict && !handle_fits(l, store, gfid, path, e->name, e->inode))
      return false;
    if (gfid_of(e->inode, &own))
      remember(l, &own);
    if (!S_ISDIR(e->inode->attr.mode))
      continue;
    sub = gi_asprintf("%s/%s", path, e->name);
    if (!sound_below(l, store, e->inode, &own, sub, strict))
      return false;
  }
  return true;
}

static int
by_gfid(const void *a, const void *b)
{
  return memcmp(a, b, sizeof(struct gi_gfid));
}

static bool
is_hex_pair(const char *name)
{
  return strlen(name) == 2 && strspn(name, "0123456789abcdef") == 2;
}

static bool
handles_named(struct look *l, const struct sim_inode *dir)
{
  for (unsigned n = 0; n < dir->nentries; n++) {
    const struct sim_dirent *e = &dir->entry[n];
    struct gi_gfid gfid;

    if (!gi_gfid_parse(e->name, &gfid))
      return differ(l, "%s among the handles is not a gfid", e->name);
    if (gi_gfid_is_root(&gfid) || (l->crashed && S_ISLNK(e->inode->attr.mode) && e->inode->nlink == 1))
      continue;
    if (!l->count || !bsearch(&gfid, l->gfid, l->count, sizeof(gfid), by_gfid))
      return differ(l, "handle %s has no name", e->name);
  }
  return true;
}

static bool
all_handles_named(struct look *l, const struct sim_inode *store)
{
  for (unsigned n = 0; n < store->nentries; n++) {
    const struct sim_inode *dir = store->entry[n].inode;

    if (!is_hex_pair(store->entry[n].name))
      continue;
    for (unsigned k = 0; k < dir->nentries; k++) {
      if (is_hex_pair(dir->entry[k].name) && !handles_named(l, dir->entry[k].inode))
        return false;
    }
  }
  return true;
}

static bool
is_sound(struct sim_disk *d, const char *path, bool crashed, char *why, size_t len)
{
  struct look l = {.why = why, .len = len, .crashed = crashed};
  struct sim_inode *root = brick_root(d, path, &l), *store = root ? sim_entry_find(root, ".glusterfs") : NULL;
  struct sim_inode *landfill = store ? sim_entry_find(store, "landfill") : NULL;
  bool sound;

  if (!root)
    return false;
  if (!store)
    return differ(&l, "%s has no .glusterfs", path);
  sound = sound_below(&l, store, root, &gi_gfid_root, "", true);
  if (sound && landfill)
    sound_below(&l, store, landfill, &gi_gfid_none, "landfill", false);
  if (l.count)
    qsort(l.gfid, l.count, sizeof(struct gi_gfid), by_gfid);
  sound = sound && all_handles_named(&l, store);
  gi_free(l.gfid);
  return sound;
}

bool
sim_disk_sound(struct sim_disk *d, const char *path, char *why, size_t len)
{
  return is_sound(d, path, false, why, len);
}

bool
sim_disk_sound_after_crash(struct sim_disk *d, const char *path, char *why, size_t len)
{
  return is_sound(d, path, true, why, len);
}

bool
sim_disk_gfid(struct sim_disk *d, const char *path, struct gi_gfid *gfid)
{
  int err = 0;
  const struct sim_inode *i = sim_walk(d, d->root, path, false, NULL, NULL, &err);

  return i && gfid_of(i, gfid);
}

/* ---- two bricks ---- */

static bool
is_ignored(const struct look *l, const char *name)
{
  if (l->no_notes && strncmp(name, NOTE_OF_NAME, sizeof(NOTE_OF_NAME) - 1) == 0)
    return true;
  for (size_t n = 0; n < GI_ARRAY_LEN(ignored); n++) {
    if (strncmp(name, ignored[n], strlen(ignored[n])) == 0)
      return true;
  }
  return false;
}

/* Everything `a` has, `b` has. */
static bool
xattrs_within(struct look *l, const char *path, const struct sim_inode *a, const struct sim_inode *b, const char *which)
{
  for (unsigned n = 0; n < a->nxattrs; n++) {
    const struct sim_xattr *x = &a->xattr[n], *y = sim_xattr_find(b, x->name);

    if (is_ignored(l, x->name))
      continue;
    if (!y)
      return differ(l, "%s/: only the %s has attribute %s", path, which, x->name);
    if (x->len != y->len || memcmp(x->value, y->value, x->len) != 0)
      return differ(l, "%s/: attribute %s differs", path, x->name);
  }
  return true;
}

/* One that is made gets no times, and one that a heal makes of an old copy of the file keeps those it had. Nobody is ever told them: the file
 * itself is elsewhere, and if it comes here its times come with it. */
static bool
is_linkto(const struct sim_inode *i)
{
  return gi_has_linkto_mode(i->attr.mode) && sim_xattr_find(i, KEY_LINKTO);
}

/* What a killed process had not written is on the other copies, and nobody heals it. */
static bool
is_lost(const struct look *l, const struct gi_gfid *gfid, const struct gi_time *mtime)
{
  for (size_t n = 0; l->lost && n < l->lost->count; n++) {
    const struct sim_lost_time *t = &l->lost->time[n];

    if (gi_gfid_equal(&t->gfid, gfid) && t->mtime.sec == mtime->sec && t->mtime.nsec == mtime->nsec)
      return true;
  }
  return false;
}

/* None: the earliest there is. */
static struct gi_time
mtime_of(const struct sim_inode *i)
{
  const struct sim_xattr *x = sim_xattr_find(i, KEY_TIMES);
  const uint8_t *at = x && x->len >= MTIME_AT + MTIME_LEN ? (const uint8_t *)x->value + MTIME_AT : NULL;

  return at ? (struct gi_time){(int64_t)gi_be64_load(at), (uint32_t)gi_be64_load(at + 8)} : (struct gi_time){INT64_MIN, 0};
}

static bool
same_mtime(struct look *l, const char *path, const struct sim_inode *a, const struct sim_inode *b)
{
  const struct gi_time s = mtime_of(a), t = mtime_of(b);
  struct gi_gfid gfid = gi_gfid_none;

  gfid_of(a, &gfid);
  if ((s.sec == t.sec && s.nsec == t.nsec) || is_lost(l, &gfid, gi_time_later(&s, &t) ? &s : &t))
    return true;
  return differ(l, s.sec == INT64_MIN || t.sec == INT64_MIN ? "%s/: only one has times" : "%s/: changed at another time", path);
}

static bool
same_content(struct look *l, const char *path, const struct sim_inode *a, const struct sim_inode *b)
{
  uint8_t x[SIM_PAGE], y[SIM_PAGE];

  if (a->size != b->size)
    return differ(l, "%s: %llu bytes on the first, %llu on the second", path, (unsigned long long)a->size,
                  (unsigned long long)b->size);
  for (uint64_t pos = 0; pos < a->size; pos += SIM_PAGE) {
    int64_t na = sim_data_seek(a, pos, false), nb = sim_data_seek(b, pos, false),
            next = na < 0 || (nb >= 0 && nb < na) ? nb : na;
    size_t n;

    if (next < 0)
      return true;
    pos = (uint64_t)next / SIM_PAGE * SIM_PAGE;
    n = sim_data_read(a, pos, x, sizeof(x));
    sim_data_read(b, pos, y, sizeof(y));
    for (size_t k = 0; k < n; k++) {
      if (x[k] != y[k])
        return differ(l, "%s: content differs at byte %llu", path, (unsigned long long)(pos + k));
    }
  }
  return true;
}

static bool
same_object(struct look *l, const char *path, const struct sim_inode *a, const struct sim_inode *b)
{
  struct gi_gfid ga = gi_gfid_none, gb = gi_gfid_none;
  char ta[GI_UUID_TEXT], tb[GI_UUID_TEXT];

  gfid_of(a, &ga);
  gfid_of(b, &gb);
  if (!gi_gfid_equal(&ga, &gb))
    return differ(l, "%s/: gfid %s on the first, %s on the second", path, gi_gfid_text(&ga, ta), gi_gfid_text(&gb, tb));
  if (a->attr.mode != b->attr.mode)
    return differ(l, "%s/: mode 0%o on the first, 0%o on the second", path, a->attr.mode, b->attr.mode);
  if (a->attr.uid != b->attr.uid || a->attr.gid != b->attr.gid)
    return differ(l, "%s/: owner %u:%u on the first, %u:%u on the second", path, a->attr.uid, a->attr.gid, b->attr.uid,
                  b->attr.gid);
  if (a->rdev != b->rdev)
    return differ(l, "%s: another device", path);
  if (a->text && strcmp(a->text, b->text) != 0)
    return differ(l, "%s: a link to %s on the first, to %s on the second", path, a->text, b->text);
  if (!xattrs_within(l, path, a, b, "first") || !xattrs_within(l, path, b, a, "second"))
    return false;
  if (!(l->but & SIM_BUT_MTIME) && !is_linkto(a) && !same_mtime(l, path, a, b))
    return false;
  return !S_ISREG(a->attr.mode) || l->but & SIM_BUT_CONTENT || same_content(l, path, a, b);
}

static bool
same_below(struct look *l, const char *path, const struct sim_inode *a, const struct sim_inode *b)
{
  if (!same_object(l, path, a, b))
    return false;
  if (!S_ISDIR(a->attr.mode))
    return true;
  for (unsigned n = 0; n < b->nentries; n++) {
    if (!private_name(path, b->entry[n].name) && !sim_entry_find(a, b->entry[n].name))
      return differ(l, "%s/%s is only on the second", path, b->entry[n].name);
  }
  for (unsigned n = 0; n < a->nentries; n++) {
    GI_CLEANUP_FREE char *sub = NULL;
    const struct sim_inode *other = sim_entry_find(b, a->entry[n].name);

    if (private_name(path, a->entry[n].name))
      continue;
    if (!other)
      return differ(l, "%s/%s is only on the first", path, a->entry[n].name);
    sub = gi_asprintf("%s/%s", path, a->entry[n].name);
    if (!same_below(l, sub, a->entry[n].inode, other))
      return false;
  }
  return true;
}

static bool
wrong_notes(const struct sim_disk *d)
{
  return d->lost_calls || d->count[SIM_FAULT_ATTR] || d->count[SIM_FAULT_ATTR_SPACE];
}

bool
sim_disk_same(struct sim_disk *a, const char *a_path, struct sim_disk *b, const char *b_path, char *why, size_t len)
{
  return sim_disk_same_but(a, a_path, b, b_path, 0, NULL, why, len);
}

void
sim_lost_times_add(struct sim_lost_times *l, const struct gi_gfid *gfid, const struct gi_time *mtime)
{
  if (l->count == l->room) {
    l->room = l->room ? 2 * l->room : 16;
    l->time = gi_realloc(l->time, l->room * sizeof(*l->time));
  }
  l->time[l->count++] = (struct sim_lost_time){*gfid, *mtime};
}

void
sim_lost_times_free(struct sim_lost_times *l)
{
  gi_free(l->time);
  *l = (struct sim_lost_times){0};
}

bool
sim_disk_same_but(struct sim_disk *a, const char *a_path, struct sim_disk *b, const char *b_path, unsigned but,
                  const struct sim_lost_times *lost, char *why, size_t len)
{
  struct look l = {.why = why, .len = len, .but = but, .lost = lost, .no_notes = wrong_notes(a) || wrong_notes(b)};
  struct sim_inode *ra = brick_root(a, a_path, &l), *rb = ra ? brick_root(b, b_path, &l) : NULL;

  return ra && rb && same_below(&l, "", ra, rb) && is_sound(a, a_path, true, why, len) && is_sound(b, b_path, true, why, len);
}

/* ---- dump ---- */

static void
dump_one(const char *path, const struct sim_inode *i, FILE *out)
{
  fprintf(out, "%s ino %llu mode 0%o links %u owner %u:%u size %llu%s%s\n", path, (unsigned long long)i->ino, i->attr.mode,
          i->nlink, i->attr.uid, i->attr.gid, (unsigned long long)i->size, i->text ? " -> " : "", i->text ? i->text : "");
  for (unsigned n = 0; n < i->nxattrs; n++) {
    fprintf(out, "  %s=0x", i->xattr[n].name);
    for (size_t k = 0; k < i->xattr[n].len; k++)
      fprintf(out, "%02x", i->xattr[n].value[k]);
    fputc('\n', out);
  }
}

static void
dump_below(const char *path, const struct sim_inode *i, FILE *out)
{
  dump_one(path, i, out);
  for (unsigned n = 0; n < i->nentries; n++) {
    const struct sim_dirent *e = &i->entry[n];
    GI_CLEANUP_FREE char *sub = gi_asprintf("%s/%s", path, e->name);

    /* The 256 empty directories of handles are left out. */
    if (!S_ISDIR(e->inode->attr.mode) || e->inode->nentries || !is_hex_pair(e->name))
      dump_below(sub, e->inode, out);
  }
}

void
sim_disk_dump(struct sim_disk *d, const char *path, FILE *out)
{
  struct look l = {.why = (char[256]){0}, .len = 256};
  const struct sim_inode *i = brick_root(d, path, &l);

  if (i)
    dump_below(path, i, out);
  else
    fprintf(out, "%s\n", l.why);
}
