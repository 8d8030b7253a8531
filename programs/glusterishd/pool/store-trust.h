/* SPDX-License-Identifier: Apache-2.0
 *
 * Members of the store go over to another secret of the pool.
 */
#ifndef GD_STORE_TRUST_H
#define GD_STORE_TRUST_H

#include "programs/glusterishd/pool/pool.h"

/* How far a member is, of the way to one secret. */
struct gd_trust_view {
  struct gi_gfid node;
  bool votes;
  bool answered;            /* it could be asked; always of this one */
  bool trusts, shows, only; /* the new secret: beside others, to others, alone */
  bool well;                /* it is of use to the store now */
};

enum gd_trust_step { GD_TRUST_WAIT, GD_TRUST_ADD, GD_TRUST_SHOW, GD_TRUST_ALONE };

/* What the member `own` may do next, as the others are. `patient`: those who do not answer, and those who are not well, are waited for. */
enum gd_trust_step gd_trust_next(const struct gd_trust_view *own, const struct gd_trust_view *others, unsigned n, bool patient);

#endif
