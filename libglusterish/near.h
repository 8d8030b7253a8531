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
 * the range from the file of the same gfid in that brick. The reply tells how
 * many bytes it copied, without attributes: all, or fewer if the brick gave way
 * to others or the source ends there; none is the end of the source. Whoever
 * asks holds locks on the range on both bricks. Any error means: copy it
 * through the network.
 */
#ifndef GI_NEAR_H
#define GI_NEAR_H

#define GI_NEAR_KEY "glusterish.near"
#define GI_NEAR_CAPABILITY "near"

#endif
