/* SPDX-License-Identifier: Apache-2.0
 *
 * Copying between bricks that share a machine. The payload of a heal goes from
 * the source through two sockets and the self-heal daemon to the sink. A sink
 * that can open the source's directory copies by itself, and only the request
 * crosses the network.
 *
 * A brick with GI_NEAR_CAPABILITY answers a healer's GETXATTR of GI_NEAR_KEY with
 * where it is (gi_fs_where), or with ENODATA if what it has in memory must not be read
 * behind its back. A COPY_FILE_RANGE of an open file onto itself, at one offset,
 * from a healer (GI_PID_HEAL), with that text under GI_NEAR_KEY in xdata, copies
 * the range, or those pieces of it that GI_NEAR_PIECES_KEY lists, from the file
 * of the same gfid in that brick. The reply tells how many bytes it copied, in
 * that order and without attributes: all, or fewer if the brick gave way to
 * others or the source ends there; none is the end of the source. Whoever asks
 * holds locks on the range on both bricks. Any error means: copy it through the
 * network.
 */
#ifndef GI_NEAR_H
#define GI_NEAR_H

#include "libglusterish/dict.h"
#include "libglusterish/extension.h"

#define GI_NEAR_PIECES 16u /* most in one request */

/* bytes */
struct gi_near_piece {
  uint64_t offset, len;
};

/* Lists n pieces in xdata: two big-endian 64-bit numbers each. 1 <= n <= GI_NEAR_PIECES; ascending, without overlap, none of them empty. */
void gi_near_pieces_put(struct gi_dict *xdata, const struct gi_near_piece *piece, unsigned n);
/* Those listed in xdata, or the range offset..offset+size where there is no list. Returns how many; 0 if the list breaks a rule of
 * gi_near_pieces_put or has a piece that is not in the range, whose end must not wrap. */
unsigned gi_near_pieces_get(const struct gi_dict *xdata, uint64_t offset, uint64_t size,
                            struct gi_near_piece piece[GI_NEAR_PIECES]);

#endif
