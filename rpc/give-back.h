/* SPDX-License-Identifier: Apache-2.0
 *
 * What our client gives back to our brick with its next message: locks of
 * transactions, descriptors, and counters that are lowered. Nobody waits for it, so
 * it needs no messages of its own. It travels in an operation's xdata; the brick
 * carries it out before the operation, counters first, whatever comes of that.
 *
 * A brick that understands it says so with the capability GI_GIVE_BACK_CAPABILITY,
 * and with GI_GIVE_COUNTERS_CAPABILITY that it takes counters, too.
 */
#ifndef GI_GIVE_BACK_H
#define GI_GIVE_BACK_H

#include "rpc/fop-codec.h"
#include "rpc/preamble.h"
#include "rpc/xdr.h"

enum gi_given { GI_GIVEN_LOCK, GI_GIVEN_DESCRIPTOR, GI_GIVEN_COUNTERS };

struct gi_give_back {
  enum gi_given what;
  int64_t handle;           /* of the descriptor; counters: of one of the file, or GI_FD_ANONYMOUS */
  struct gi_gfid gfid;      /* counters: of the object, */
  struct gi_dict *counters; /* and what is added to them, as XATTROP ADD32 does */
  const char *domain;       /* a lock: where it is, */
  struct gi_owner owner;
  struct gi_preamble_lock lock;
  /* where decoded texts live */
  char domain_text[GI_PREAMBLE_DOMAIN + 1];
  char name_text[GI_NAME_MAX + 1];
};

/* Whether a lock can be told: its domain is not too long. */
bool gi_give_back_fits(const char *domain);
/* Adds it to `out`, which becomes the value of GI_GIVE_BACK_KEY. */
void gi_give_back_put(struct gi_xdr_out *out, const struct gi_give_back *g);
/* The next one of a value; false at its end, or if it is malformed (in->failed). `g` must not be moved: it points into itself. Counters are a
 * reference of the caller's. */
GI_MUST_CHECK bool gi_give_back_next(struct gi_xdr_in *in, struct gi_give_back *g);

#endif
