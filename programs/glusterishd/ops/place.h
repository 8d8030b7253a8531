/* SPDX-License-Identifier: Apache-2.0
 *
 * Where bricks go when nobody says it (place.c).
 */
#ifndef GD_PLACE_H
#define GD_PLACE_H

#include "programs/glusterishd/ops/op.h"

struct gd_place_wish {
  const char *volume;         /* lent; names of bricks begin with it */
  unsigned sets, copies;      /* of a set */
  bool arbiter;               /* the last brick of each set keeps no data */
  bool force;                 /* bricks of a set may be on one node, and on the file system of the system itself */
  const struct gi_gfid *only; /* only on that node; NULL: on any that is connected. Lent for the call. */
  const char *like;           /* the path of a brick whose place, on its node, is the first choice; NULL: none */
};

/* Asks nodes what room they have and goes on with `then`, as gd_command.run would: `bricks` is a list of HOST:PATH in the order of the
 * volume, lent. What was chosen, with the room there, is in op->out as "placed". */
typedef int gd_placed_fn(struct gd_op *op, const json_t *bricks, struct gi_error *err);
int gd_place(struct gd_op *op, const struct gd_place_wish *wish, gd_placed_fn *then, struct gi_error *err);
/* What such a command does with its answers, apart from asking: `offers` as nodes make them; one without "roots" is of a node that does
 * not answer, beside which force puts no two bricks of a set on one node. A list {"brick", "free"}; NULL and err:
 * there is no room. */
json_t *gd_place_choose(const struct gd_place_wish *wish, const json_t *offers, struct gi_error *err);
void gd_place_free(struct gd_op *op); /* for op.c */
int gd_op_node_offer(struct gd_op *op, struct gi_error *err);

#endif
