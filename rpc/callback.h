/* SPDX-License-Identifier: Apache-2.0
 *
 * Bodies of the callbacks a brick sends to its clients (wire.md 10), both
 * directions.
 */
#ifndef GI_CALLBACK_H
#define GI_CALLBACK_H

#include "libglusterish/xlator.h"
#include "rpc/xdr.h"

void gi_callback_put_invalidation(struct gi_xdr_out *out, const struct gi_invalidation *inv);
/* False = malformed, nothing to free. Else inv->xdata is owned by the caller. */
bool gi_callback_get_invalidation(struct gi_xdr_in *in, struct gi_invalidation *inv);

void gi_callback_put_contention(struct gi_xdr_out *out, const struct gi_contention *con);
/* `domain` and `name` (room for `size` bytes each) back the texts in `con`. Likewise. */
bool gi_callback_get_contention(struct gi_xdr_in *in, bool entry, struct gi_contention *con, char *domain, char *name,
                                size_t size);

#endif
