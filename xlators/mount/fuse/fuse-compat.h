/* SPDX-License-Identifier: Apache-2.0
 *
 * The seam to libfuse: which API is used, and what differs between 3.14 and
 * 3.18 and later. Capabilities that an old libfuse does not know by name are
 * set in its INIT reply on the way out (fuse-session.c).
 */
#ifndef FUSE_COMPAT_H
#define FUSE_COMPAT_H

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

#include <stdbool.h>
#include <stdint.h>

/* INIT flags newer than the kernel headers of the build host. */
#define COMPAT_HANDLE_KILLPRIV_V2 (1ull << 28)
#define COMPAT_INIT_EXT (1ull << 30)
#define COMPAT_DIRECT_IO_ALLOW_MMAP (1ull << 36)

/* Asks for a capability if the kernel offers it; false if it does not. */
static inline bool
compat_want(struct fuse_conn_info *conn, uint64_t cap)
{
#if FUSE_VERSION >= FUSE_MAKE_VERSION(3, 17)
  return fuse_set_feature_flag(conn, cap);
#else
  if ((conn->capable & cap) != cap)
    return false;
  conn->want |= (unsigned)cap;
  return true;
#endif
}

static inline void
compat_refuse(struct fuse_conn_info *conn, uint64_t cap)
{
#if FUSE_VERSION >= FUSE_MAKE_VERSION(3, 17)
  fuse_unset_feature_flag(conn, cap);
#else
  conn->want &= ~(unsigned)cap;
#endif
}

#endif
