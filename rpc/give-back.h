/* SPDX-License-Identifier: Apache-2.0
 *
 * What our client gives back to our brick with its next message: locks of
 * transactions, descriptors, and marks (counters to be added). Nobody waits for
 * it, so it needs no messages of its own. It travels in an operation's xdata; the
 * brick carries it out before the operation, whatever comes of that, and tells in
 * the answer's xdata what came of the counters, in their order.
 *
 * A brick that understands it says so with the capability GI_GIVE_BACK_CAPABILITY.
 */
#ifndef GI_GIVE_BACK_H
#define GI_GIVE_BACK_H

#include "rpc/preamble.h"
#include "rpc/xdr.h"

enum gi_giving { GI_GIVE_LOCK, GI_GIVE_DESCRIPTOR, GI_GIVE_COUNTERS };

struct gi_give_back {
  enum gi_giving what;
  int64_t handle;     /* of the descriptor; of a file whose counters these are, GI_FD_ANONYMOUS: it is named by its gfid */
  const char *domain; /* a lock: where it is, */
  struct gi_owner owner;
  struct gi_preamble_lock lock; /* counters: only its gfid counts */
  struct gi_dict *counters;     /* XATTROP ADD32; after gi_give_back_next the caller's */
  /* where decoded texts live */
  char domain_text[GI_PREAMBLE_DOMAIN + 1];
  char name_text[GI_NAME_MAX + 1];
};

/* Whether a lock can be told: its domain is not too long. */
bool gi_give_back_fits(const char *domain);
/* Adds it to `out`, which becomes the value of GI_GIVE_BACK_KEY. */
void gi_give_back_put(struct gi_xdr_out *out, const struct gi_give_back *g);
/* The next one of a value; false at its end, or if it is malformed (in->failed). `g` must not be moved: it points into itself. */
GI_MUST_CHECK bool gi_give_back_next(struct gi_xdr_in *in, struct gi_give_back *g);

/* What came of counters, one after another: an errno, or 0 and their values (borrowed, or NULL). */
void gi_give_back_put_outcome(struct gi_xdr_out *out, int err, const struct gi_dict *values);
GI_MUST_CHECK bool gi_give_back_next_outcome(struct gi_xdr_in *in, int *err,
                                             struct gi_dict **values); /* *values: the caller's */

#endif
