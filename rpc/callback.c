/* SPDX-License-Identifier: Apache-2.0
 *
 * Bodies of the callbacks a brick sends to its clients (wire.md 10). The
 * attributes in them are the older structure of 100 bytes (wire.md 3.3), the
 * dictionary the older serialisation.
 */
#include "rpc/callback.h"

#define CALLBACK_DICT_MAX (1u << 20)
#define CALLBACK_EVENT_INVALIDATE 1

/* ---- legacy attributes ---- */

static void
put_old_iatt(struct gi_xdr_out *out, const struct gi_iatt *a)
{
  gi_xdr_put_gfid(out, &a->gfid);
  gi_xdr_put_u64(out, a->ino);
  gi_xdr_put_u64(out, a->dev);
  gi_xdr_put_u32(out, a->mode);
  gi_xdr_put_u32(out, a->nlink);
  gi_xdr_put_u32(out, a->uid);
  gi_xdr_put_u32(out, a->gid);
  gi_xdr_put_u64(out, a->rdev);
  gi_xdr_put_u64(out, a->size);
  gi_xdr_put_u32(out, a->blksize);
  gi_xdr_put_u64(out, a->blocks);
  const struct gi_time *times[] = {&a->atime, &a->mtime, &a->ctime};
  for (int i = 0; i < 3; i++) {
    gi_xdr_put_u32(out, (uint32_t)times[i]->sec);
    gi_xdr_put_u32(out, times[i]->nsec);
  }
}

static void
get_old_iatt(struct gi_xdr_in *in, struct gi_iatt *a)
{
  *a = (struct gi_iatt){0};
  gi_xdr_get_gfid(in, &a->gfid);
  a->ino = gi_xdr_get_u64(in);
  a->dev = gi_xdr_get_u64(in);
  a->mode = gi_xdr_get_u32(in);
  a->nlink = gi_xdr_get_u32(in);
  a->uid = gi_xdr_get_u32(in);
  a->gid = gi_xdr_get_u32(in);
  a->rdev = gi_xdr_get_u64(in);
  a->size = gi_xdr_get_u64(in);
  a->blksize = gi_xdr_get_u32(in);
  a->blocks = gi_xdr_get_u64(in);
  struct gi_time *times[] = {&a->atime, &a->mtime, &a->ctime};
  for (int i = 0; i < 3; i++) {
    times[i]->sec = gi_xdr_get_u32(in);
    times[i]->nsec = gi_xdr_get_u32(in);
  }
  if (a->mode)
    a->flags = GI_IATT_BASIC;
}

/* ---- the dictionary ---- */

static void
put_old_dict(struct gi_xdr_out *out, const struct gi_dict *d)
{
  if (gi_dict_count(d) == 0) {
    gi_xdr_put_opaque(out, NULL, 0);
    return;
  }
  struct gi_xdr_out bytes = {0};
  gi_legacy_dict_encode(&bytes, d);
  gi_xdr_put_opaque(out, bytes.base, (uint32_t)bytes.len);
  gi_xdr_out_finish(&bytes);
}

/* Absent, empty and unreadable are told apart: only the last is false. */
static bool
get_old_dict(struct gi_xdr_in *in, struct gi_dict **d)
{
  uint32_t len = 0;
  *d = NULL;
  const uint8_t *bytes = gi_xdr_get_opaque(in, CALLBACK_DICT_MAX, &len);
  if (in->failed)
    return false;
  if (len == 0)
    return true;
  *d = gi_legacy_dict_decode(bytes, len);
  return *d != NULL;
}

static bool
get_text(struct gi_xdr_in *in, char *text, size_t size)
{
  uint32_t len = 0;
  const uint8_t *bytes = gi_xdr_get_opaque(in, (uint32_t)size - 1, &len);
  if (in->failed || (len && memchr(bytes, 0, len)))
    return false;
  if (len)
    memcpy(text, bytes, len);
  text[len] = 0;
  return true;
}

/* ---- CACHE_INVALIDATION ---- */

void
gi_callback_put_invalidation(struct gi_xdr_out *out, const struct gi_invalidation *inv)
{
  char text[GI_UUID_TEXT];
  gi_xdr_put_string(out, gi_gfid_text(&inv->gfid, text));
  gi_xdr_put_u32(out, CALLBACK_EVENT_INVALIDATE);
  gi_xdr_put_u32(out, inv->flags);
  gi_xdr_put_u32(out, inv->expire_s);
  put_old_iatt(out, &inv->stat);
  put_old_iatt(out, &inv->parent);
  put_old_iatt(out, &inv->old_parent);
  put_old_dict(out, inv->xdata);
}

bool
gi_callback_get_invalidation(struct gi_xdr_in *in, struct gi_invalidation *inv)
{
  char text[64];
  *inv = (struct gi_invalidation){0};
  if (!get_text(in, text, sizeof(text)) || !gi_gfid_parse(text, &inv->gfid))
    return false;
  gi_xdr_get_u32(in); /* event type */
  inv->flags = gi_xdr_get_u32(in);
  inv->expire_s = gi_xdr_get_u32(in);
  get_old_iatt(in, &inv->stat);
  get_old_iatt(in, &inv->parent);
  get_old_iatt(in, &inv->old_parent);
  return !in->failed && get_old_dict(in, &inv->xdata);
}

/* ---- INODELK_CONTENTION, ENTRYLK_CONTENTION ---- */

static void
put_flock(struct gi_xdr_out *out, const struct gi_flock *f)
{
  gi_xdr_put_u32(out, f->type);
  gi_xdr_put_u32(out, f->whence);
  gi_xdr_put_u64(out, f->start);
  gi_xdr_put_u64(out, f->len);
  gi_xdr_put_u32(out, f->pid);
  gi_xdr_put_opaque(out, f->owner.data, f->owner.len);
}

static void
get_flock(struct gi_xdr_in *in, struct gi_flock *f)
{
  f->type = gi_xdr_get_u32(in);
  f->whence = gi_xdr_get_u32(in);
  f->start = gi_xdr_get_u64(in);
  f->len = gi_xdr_get_u64(in);
  f->pid = gi_xdr_get_u32(in);
  uint32_t len = 0;
  const uint8_t *owner = gi_xdr_get_opaque(in, GI_OWNER_MAX, &len);
  if (in->failed)
    return;
  f->owner.len = len;
  memcpy(f->owner.data, owner, len);
}

void
gi_callback_put_contention(struct gi_xdr_out *out, const struct gi_contention *con)
{
  gi_xdr_put_gfid(out, &con->gfid);
  if (con->entry)
    gi_xdr_put_u32(out, con->flock.type);
  else
    put_flock(out, &con->flock);
  gi_xdr_put_u32(out, con->flock.pid);
  if (con->entry)
    gi_xdr_put_string(out, con->name);
  gi_xdr_put_string(out, con->domain);
  put_old_dict(out, con->xdata);
}

bool
gi_callback_get_contention(struct gi_xdr_in *in, bool entry, struct gi_contention *con, char *domain, char *name, size_t size)
{
  *con = (struct gi_contention){.entry = entry, .domain = domain};
  gi_xdr_get_gfid(in, &con->gfid);
  if (entry)
    con->flock.type = gi_xdr_get_u32(in);
  else
    get_flock(in, &con->flock);
  con->flock.pid = gi_xdr_get_u32(in);
  if (entry) {
    if (!get_text(in, name, size))
      return false;
    con->name = name[0] ? name : NULL; /* no name: the whole directory */
  }
  return get_text(in, domain, size) && get_old_dict(in, &con->xdata);
}
