/* SPDX-License-Identifier: Apache-2.0
 *
 * What follows from the names and the number of the children: masks, and the
 * names of the changelog attributes.
 */
#include "xlators/cluster/replicate/set/set.h"

/* The changelog attributes of `n` children; on failure none is left. */
static int
parse_pending(char *key[REP_MAX], const struct rep_options *o, struct gi_xlator *const *children, unsigned n,
              struct gi_error *err)
{
  const char *p = o->pending_xattr;
  unsigned i = 0;

  for (; p && *p && i < n; i++) {
    size_t len = strcspn(p, ",");

    if (len == 0)
      break;
    key[i] = gi_asprintf("trusted.afr.%.*s", (int)len, p);
    p += len + (p[len] == ',');
  }
  if (o->pending_xattr && (i != n || *p)) {
    while (i > 0)
      gi_free(key[--i]), key[i] = NULL;
    return gi_error_set(err, EINVAL, "afr-pending-xattr must name each of the %u subvolumes", n);
  }
  for (; i < n; i++)
    key[i] = gi_asprintf("trusted.afr.%s", children[i]->name);
  return 0;
}

int
rep_keys_init(struct rep *rep, const struct rep_options *o, struct gi_xlator *const *children, unsigned n, struct gi_error *err)
{
  GI_ASSERT(n >= 1 && n <= REP_MAX && !rep->pending_key[0]);
  rep->all = (1u << n) - 1;
  rep->arbiter = o->arbiter_count > 0 ? 1u << 2 : 0;
  if (parse_pending(rep->pending_key, o, children, n, err) < 0)
    return -1;
  return 0;
}

void
rep_keys_finish(struct rep *rep)
{
  for (unsigned i = 0; i < REP_MAX; i++) {
    gi_free(rep->pending_key[i]);
    rep->pending_key[i] = NULL;
  }
}

int
rep_options_check(const struct gi_xlator *x, const struct rep_options *o, struct gi_error *err)
{
  struct gi_xlator *const *children = x->incoming ? x->incoming : x->children;
  unsigned n = x->incoming ? x->nincoming : x->nchildren;
  char *key[REP_MAX] = {NULL};

  if (o->quorum_type == REP_QUORUM_FIXED && o->quorum_count > (int64_t)n)
    return gi_error_set(err, EINVAL, "quorum-count %lld is more than the %u subvolumes", (long long)o->quorum_count, n);
  if (o->arbiter_count > 0 && n != 3)
    return gi_error_set(err, EINVAL, "arbiter-count 1 needs 3 subvolumes, not %u", n);
  if (parse_pending(key, o, children, n, err) < 0)
    return -1;
  for (unsigned i = 0; i < n; i++)
    gi_free(key[i]);
  return 0;
}
