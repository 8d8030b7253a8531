/* SPDX-License-Identifier: Apache-2.0
 *
 * The preamble of an operation, between our own client and brick: locks to be
 * tried and changelog counters to be added before the operation, in the same
 * message. It travels in the operation's xdata; what came of it travels back in
 * the reply's. On one brick it is all or nothing: if a lock is refused those it
 * got are given back and the operation is not done.
 *
 * A brick that understands it says so with the capability GI_PREAMBLE_CAPABILITY.
 */
#ifndef GI_PREAMBLE_H
#define GI_PREAMBLE_H

#include "libglusterish/dict.h"
#include "libglusterish/extension.h"
#include "libglusterish/types.h"
#include "rpc/xdr.h"

#define GI_PREAMBLE_LOCKS 3 /* rename onto a directory */
#define GI_PREAMBLE_DOMAIN 255

/* for writing; non-blocking */
struct gi_preamble_lock {
  bool entry;
  struct gi_gfid gfid;
  const char *name;    /* entry: NULL = the whole directory */
  uint64_t start, len; /* inode: bytes; len 0 = to the end */
};

struct gi_preamble {
  const char *domain;
  struct gi_owner owner; /* of the locks; the operation keeps its own */
  uint32_t nlocks;
  struct gi_preamble_lock lock[GI_PREAMBLE_LOCKS];
  struct gi_dict *counters; /* XATTROP ADD32 on the operation's own inode; NULL = none */
  /* where decoded texts live */
  char domain_text[GI_PREAMBLE_DOMAIN + 1];
  char name_text[GI_PREAMBLE_LOCKS][GI_NAME_MAX + 1];
};

/* Sets GI_PREAMBLE_KEY in `xdata`. */
void gi_preamble_put(struct gi_dict *xdata, const struct gi_preamble *p);
/* Decodes it from a request; false if it is malformed, then nothing is held. `p` must not be moved: it points into itself. */
GI_MUST_CHECK bool gi_preamble_get(const struct gi_dict *xdata, struct gi_preamble *p);
void gi_preamble_clear(struct gi_preamble *p); /* drops the counters; all-zero is fine */

/* The outcome, in a reply: err 0 = the locks are held, the counters added (`counters`: their values now), and the operation was
 * tried; otherwise nothing was done. */
void gi_preamble_put_outcome(struct gi_dict *xdata, int err, const struct gi_dict *counters);
/* False if the reply carries none. *counters: owned by the caller, NULL if there are none. */
GI_MUST_CHECK bool gi_preamble_get_outcome(const struct gi_dict *xdata, int *err, struct gi_dict **counters);

/* The parts of it that others use, too: false if malformed. */
void gi_preamble_put_lock(struct gi_xdr_out *out, const struct gi_preamble_lock *l);
GI_MUST_CHECK bool gi_preamble_get_lock(struct gi_xdr_in *in, struct gi_preamble_lock *l, char *name); /* of GI_NAME_MAX + 1 */
GI_MUST_CHECK bool gi_preamble_get_text(struct gi_xdr_in *in, char *text, uint32_t max); /* 1 to `max` bytes without NUL */
GI_MUST_CHECK bool gi_preamble_get_owner(struct gi_xdr_in *in, struct gi_owner *owner);

#endif
