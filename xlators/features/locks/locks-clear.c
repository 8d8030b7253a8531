/* SPDX-License-Identifier: Apache-2.0
 *
 * Removing locks from outside: a client that went away, the clear-locks and
 * interrupt-lock virtual xattrs (brick.md 9.8); and the statedump that shows
 * what there is to clear (brick.md 9.9).
 *
 * Grammar of the names, KIND one of blocked, granted, all:
 *   glusterfs.clrlk.tinode.kKIND[.whence,start-len]   likewise tposix
 *   glusterfs.clrlk.tentry.kKIND[.basename]
 * glusterfs.intrlk.… is the same, restricted to the caller's client and pid.
 *
 * Only root clears locks, and a client whose root is squashed has none. Anybody
 * may take back the POSIX requests he himself waits with.
 */
#include "xlators/features/locks/locks.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#define LK_CLEAR_PREFIX "glusterfs.clrlk."
#define LK_INTR_PREFIX "glusterfs.intrlk."
#define LK_CLEAR_NAME_MAX 512 /* bytes of such a name: it also is the key of the answer */

enum clear_type { CLEAR_INODE, CLEAR_ENTRY, CLEAR_POSIX, CLEAR_NONE };

static const char *const type_word[] = {"inode", "entry", "posix"};

/* Skips `word` followed by '.' or the end; NULL if it is something else. */
static const char *
skip_word(const char *s, const char *word)
{
  size_t len = strlen(word);
  if (strncmp(s, word, len) != 0 || (s[len] && s[len] != '.'))
    return NULL;
  return s + len + (s[len] == '.');
}

static bool
parse_range(const char *s, struct lk_filter *f)
{
  struct gi_flock flock = {0};
  char *end;
  errno = 0;
  flock.whence = (uint32_t)strtoul(s, &end, 10);
  if (end == s || *end != ',')
    return false;
  s = end + 1;
  flock.start = (uint64_t)strtoll(s, &end, 10);
  if (end == s || *end != '-')
    return false;
  s = end + 1;
  flock.len = (uint64_t)strtoll(s, &end, 10);
  if (end == s || *end || errno)
    return false;
  f->by_range = true;
  return lk_range(&flock, true, &f->start, &f->last);
}

/* The part behind the prefix. CLEAR_NONE = malformed. */
static enum clear_type
parse_clear(const char *s, struct lk_filter *f)
{
  enum clear_type type = CLEAR_NONE;
  const char *rest = NULL;
  if (*s++ != 't')
    return CLEAR_NONE;
  for (int t = 0; t < CLEAR_NONE && !rest; t++) {
    rest = skip_word(s, type_word[t]);
    if (rest)
      type = t;
  }
  if (!rest || *rest++ != 'k')
    return CLEAR_NONE;
  if ((s = skip_word(rest, "blocked")))
    f->blocked = true;
  else if ((s = skip_word(rest, "granted")))
    f->granted = true;
  else if ((s = skip_word(rest, "all")))
    f->blocked = f->granted = true;
  else
    return CLEAR_NONE;
  if (!*s)
    return type;
  if (type == CLEAR_ENTRY) {
    f->name = s;
    return type;
  }
  return parse_range(s, f) ? type : CLEAR_NONE;
}

static void
retry_all(struct gi_xlator *x, struct lk_inode *li, struct gi_list *ready)
{
  gi_list_foreach(dom, &li->domains, struct lk_domain, link) {
    for (int k = 0; k < LK_KINDS; k++) {
      if (dom->queue[k].nblocked)
        lk_queue_retry(x, li, dom, k, ready);
    }
  }
  lk_posix_retry(x, li, ready);
  gi_list_foreach_safe(dom, &li->domains, struct lk_domain, link)
    lk_domain_settle(li, dom);
}

static struct lk_cleared
clear_queues(struct gi_xlator *x, struct lk_inode *li, enum lk_kind kind, const struct lk_filter *f, int err,
             struct gi_list *ready)
{
  struct lk_cleared sum = {0};
  gi_list_foreach(dom, &li->domains, struct lk_domain, link) {
    struct lk_cleared c = lk_queue_clear(x, li, dom, kind, f, err, ready);
    sum.granted += c.granted;
    sum.blocked += c.blocked;
  }
  return sum;
}

static unsigned
drop_waiting_fops(struct gi_xlator *x, struct lk_inode *li, struct gi_list *list, const struct lk_filter *f, int err,
                  struct gi_list *ready)
{
  unsigned n = 0;
  gi_list_foreach_safe(fop, list, struct gi_fop, link) {
    if (f->by_client && fop->caller.client != f->client)
      continue;
    gi_list_del(&fop->link);
    lk_ready_answer(ready, fop, x, -1, err);
    lk_inode_unuse(x, li);
    n++;
  }
  return n;
}

unsigned
lk_drop(struct gi_xlator *x, const struct lk_filter *f, int err)
{
  struct gi_list ready = GI_LIST_INIT(ready);
  unsigned dropped = 0;
  gi_list_foreach_safe(li, &lk_private(x)->busy, struct lk_inode, link) {
    lk_inode_use(x, li);
    for (int k = 0; k < LK_KINDS; k++) {
      struct lk_cleared c = clear_queues(x, li, k, f, err, &ready);
      dropped += c.granted + c.blocked;
    }
    struct lk_cleared c = lk_posix_clear(x, li, f, err, &ready);
    dropped += c.granted + c.blocked;
    dropped += drop_waiting_fops(x, li, &li->io_waiting, f, err, &ready);
    retry_all(x, li, &ready);
    lk_inode_unuse(x, li);
  }
  lk_ready_run(x, &ready);
  return dropped;
}

static struct lk_cleared
clear_type(struct gi_xlator *x, struct gi_inode *inode, enum clear_type type, const struct lk_filter *f)
{
  struct lk_inode *li = lk_inode_peek(x, inode);
  struct lk_cleared c = {0};
  if (!li || !li->users)
    return c;
  struct gi_list ready = GI_LIST_INIT(ready);
  lk_inode_use(x, li);
  if (type == CLEAR_POSIX)
    c = lk_posix_clear(x, li, f, EINTR, &ready);
  else
    c = clear_queues(x, li, type == CLEAR_INODE ? LK_INODE : LK_ENTRY, f, EAGAIN, &ready);
  retry_all(x, li, &ready);
  lk_inode_unuse(x, li);
  lk_count(x)->cleared += c.granted + c.blocked;
  lk_ready_run(x, &ready);
  return c;
}

static bool
may_clear(const struct gi_fop *fop, enum clear_type type, const struct lk_filter *f)
{
  return fop->caller.uid == 0 || (f->by_client && type == CLEAR_POSIX && !f->granted);
}

enum gi_verdict
lk_clear_getxattr(struct gi_xlator *x, struct gi_fop *fop)
{
  const char *name = fop->args.name;
  struct lk_filter f = {0};
  bool own = false;
  if (!name || strncmp(name, "glusterfs.", 10) != 0)
    return lk_counts(x, fop);
  if (strncmp(name, LK_CLEAR_PREFIX, sizeof(LK_CLEAR_PREFIX) - 1) == 0) {
    name += sizeof(LK_CLEAR_PREFIX) - 1;
  } else if (strncmp(name, LK_INTR_PREFIX, sizeof(LK_INTR_PREFIX) - 1) == 0) {
    name += sizeof(LK_INTR_PREFIX) - 1;
    own = true;
  } else {
    return lk_counts(x, fop);
  }
  enum clear_type type = strlen(name) <= LK_CLEAR_NAME_MAX ? parse_clear(name, &f) : CLEAR_NONE;
  if (type == CLEAR_NONE)
    return gi_fop_fail(fop, EINVAL);
  f.by_client = f.by_pid = own;
  if (!may_clear(fop, type, &f))
    return gi_fop_fail(fop, EPERM);
  f.client = fop->caller.client;
  f.pid = fop->caller.pid;
  struct lk_cleared c = clear_type(x, gi_fop_inode(fop), type, &f);
  char host[256] = "", text[1024] = "No locks cleared.";
  if (c.granted + c.blocked) {
    gethostname(host, sizeof(host) - 1);
    snprintf(text, sizeof(text), "%s:%s: %s blocked locks=%u granted locks=%u", host,
             x->ctx->brick_name ? x->ctx->brick_name : x->name, type_word[type], c.blocked, c.granted);
  }
  fop->rsp.dict = gi_dict_new();
  gi_dict_set_str(fop->rsp.dict, fop->args.name, text);
  return gi_fop_ok(fop, (int)strlen(text) + 1);
}

/* ---- statedump ---- */

static const char *
time_text(const struct gi_time *t, char text[40])
{
  struct tm tm;
  time_t sec = (time_t)t->sec;
  if (!gmtime_r(&sec, &tm) || !strftime(text, 40, "%Y-%m-%d %H:%M:%S", &tm))
    snprintf(text, 40, "?");
  return text;
}

static void
dump_lock(struct gi_dump *d, enum lk_kind kind, unsigned i, const struct lk_lock *l)
{
  char key[64], owner[GI_OWNER_TEXT], when[40];
  const char *state = l->fop ? "BLOCKED" : "ACTIVE", *verb = l->fop ? "blocked" : "granted";
  const char *peer = lk_peer(&l->who);
  snprintf(key, sizeof(key), "%s[%u](%s)", kind == LK_INODE ? "inodelk.inodelk" : "entrylk.entrylk", i, state);
  gi_owner_text(&l->who.owner, owner);
  time_text(&l->wall, when);
  if (kind == LK_INODE)
    gi_dump_kv(d, key, "type=%s, whence=0, start=%llu, len=%llu, pid = %d, owner=%s, client=%p, connection-id=%s, %s at %s",
               l->type == GI_LK_WRITE ? "WRITE" : "READ", (unsigned long long)l->start, (unsigned long long)l->len, l->who.pid,
               owner, l->who.client, peer, verb, when);
  else
    gi_dump_kv(d, key, "%s on basename=%s, pid = %d, owner=%s, client=%p, connection-id=%s, %s at %s",
               l->type ? "ENTRYLK_WRLCK" : "ENTRYLK_RDLCK", l->name ? l->name : "(null)", l->who.pid, owner, l->who.client,
               peer, verb, when);
}

static void
dump_domain(struct gi_dump *d, const struct lk_domain *dom)
{
  gi_dump_kv(d, "lock-dump.domain.domain", "%s", dom->name);
  for (int k = 0; k < LK_KINDS; k++) {
    unsigned i = 0;
    gi_list_foreach(l, &dom->queue[k].granted, struct lk_lock, link)
      dump_lock(d, k, i++, l);
    gi_list_foreach(l, &dom->queue[k].blocked, struct lk_lock, link)
      dump_lock(d, k, i++, l);
  }
}

static void
dump_posix(struct gi_dump *d, unsigned i, const struct lk_posix *l)
{
  char key[64], owner[GI_OWNER_TEXT], when[40];
  snprintf(key, sizeof(key), "posixlk.posixlk[%u](%s)", i, l->fop ? "BLOCKED" : "ACTIVE");
  gi_dump_kv(d, key, "type=%s, whence=0, start=%llu, len=%llu, pid = %d, owner=%s, client=%p, connection-id=%s, %s at %s",
             l->type == GI_LK_WRITE ? "WRITE" : "READ", (unsigned long long)l->start,
             l->last == LK_LAST ? 0ull : (unsigned long long)(l->last - l->start + 1), l->who.pid,
             gi_owner_text(&l->who.owner, owner), l->who.client, lk_peer(&l->who), l->fop ? "blocked" : "granted",
             time_text(&l->wall, when));
}

static void
dump_inode(struct gi_xlator *x, struct gi_dump *d, const struct lk_inode *li)
{
  char gfid[GI_UUID_TEXT];
  unsigned n[LK_KINDS] = {0}, i = 0;
  gi_list_foreach(dom, &li->domains, struct lk_domain, link) {
    for (int k = 0; k < LK_KINDS; k++)
      n[k] += dom->queue[k].ngranted + dom->queue[k].nblocked;
  }
  gi_dump_section(d, "xlator.features.locks.%s.inode", x->name);
  gi_dump_kv(d, "path", "<gfid:%s>", gi_gfid_text(&li->inode->gfid, gfid));
  gi_dump_kv(d, "mandatory", "%d", lk_options(x)->mandatory);
  if (n[LK_ENTRY])
    gi_dump_kv(d, "entrylk-count", "%u", n[LK_ENTRY]);
  if (n[LK_INODE])
    gi_dump_kv(d, "inodelk-count", "%u", n[LK_INODE]);
  if (n[LK_ENTRY] || n[LK_INODE])
    gi_list_foreach(dom, &li->domains, struct lk_domain, link)
      dump_domain(d, dom);
  if (lk_posix_count(li))
    gi_dump_kv(d, "posixlk-count", "%u", lk_posix_count(li));
  gi_list_foreach(l, &li->posix, struct lk_posix, link)
    dump_posix(d, i++, l);
  gi_list_foreach(l, &li->posix_blocked, struct lk_posix, link)
    dump_posix(d, i++, l);
}

void
lk_statedump(struct gi_xlator *x, struct gi_dump *d)
{
  gi_list_foreach(li, &lk_private(x)->busy, struct lk_inode, link)
    dump_inode(x, d, li);
}
