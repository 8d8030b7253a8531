/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers in the order of the wire and of extended attributes, at any address.
 */
#ifndef GI_BIGENDIAN_H
#define GI_BIGENDIAN_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

static inline uint32_t
gi_be32_load(const void *p)
{
  uint32_t v;

  memcpy(&v, p, sizeof(v));
  return be32toh(v);
}

static inline uint64_t
gi_be64_load(const void *p)
{
  uint64_t v;

  memcpy(&v, p, sizeof(v));
  return be64toh(v);
}

static inline void
gi_be32_store(void *p, uint32_t v)
{
  v = htobe32(v);
  memcpy(p, &v, sizeof(v));
}

static inline void
gi_be64_store(void *p, uint64_t v)
{
  v = htobe64(v);
  memcpy(p, &v, sizeof(v));
}

#endif
