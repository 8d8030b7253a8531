/* SPDX-License-Identifier: Apache-2.0
 *
 * Payload: the bytes of READ and WRITE, held as slices of reference-counted
 * page-aligned buffers so that they are never copied on their way between
 * /dev/fuse, the sockets, caches and the disk (design: zero copies).
 *
 * Buffers are owned by one reactor; only their memory may be read or written
 * by a worker thread while the reactor holds the reference.
 */
#ifndef GI_PAYLOAD_H
#define GI_PAYLOAD_H

#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>
#include <sys/uio.h>

#define GI_PAGE 4096u
#define GI_PAYLOAD_SLICES 8 /* most slices of one payload */

struct gi_buf {
  uint32_t magic;
  uint32_t refs;
  size_t capacity; /* usable bytes at `base`, page aligned */
  uint8_t *base;
};

/* A page-aligned buffer of at least `size` bytes from the pools (classes up to 2 MiB; larger ones are mapped alone). Never
 * NULL. Content is undefined. */
struct gi_buf *gi_buf_new(size_t size);
struct gi_buf *gi_buf_ref(struct gi_buf *buf);
void gi_buf_unref(struct gi_buf **buf); /* clears *buf; NULL is fine */

struct gi_slice {
  struct gi_buf *buf; /* NULL: `data` outlives the payload (static zeroes) */
  const uint8_t *data;
  size_t len;
};

struct gi_payload {
  uint32_t count;
  size_t len; /* sum of the slices, bytes */
  struct gi_slice slice[GI_PAYLOAD_SLICES];
};

/* Appends [data, data+len) of `buf`, taking a new reference unless it goes on where the last slice ends. When all slices are in use the tail is gathered by copy into one
 * new buffer (counted in gi_payload_copied). len 0 is ignored. */
void gi_payload_add(struct gi_payload *p, struct gi_buf *buf, const void *data, size_t len);
/* Appends every slice of `from` by reference. One that lies right behind the last slice, in the same buffer, becomes part of it: any
 * number of payloads that lie in a row become one slice. */
void gi_payload_append(struct gi_payload *p, const struct gi_payload *from);
/* A sub-range by reference into the empty payload `out`; the range must lie inside `p`. */
void gi_payload_slice(const struct gi_payload *p, size_t offset, size_t len, struct gi_payload *out);
/* Keeps the first `len` bytes. */
void gi_payload_trim(struct gi_payload *p, size_t len);
/* Drops all references and empties it. */
void gi_payload_clear(struct gi_payload *p);
/* Fills `iov` (room for GI_PAYLOAD_SLICES); returns the number used. */
int gi_payload_iov(const struct gi_payload *p, struct iovec *iov);
/* Copies `len` bytes at `offset` out; returns bytes copied (short at the end). Counted. */
size_t gi_payload_read(const struct gi_payload *p, size_t offset, void *out, size_t len);
/* Appends a copy of `len` bytes. Counted. */
void gi_payload_add_copy(struct gi_payload *p, const void *data, size_t len);

/* Bytes of memory that cannot be freed while this payload is kept: the whole of each buffer it has a slice of. This is what a cached
 * payload costs; a 4 KiB slice of a receive buffer of 2 MiB costs 2 MiB.
 *
 * Payloads that came one after the other may lie in the same buffer: data that the kernel writes does, each piece from a page of its own on,
 * a megabyte to a buffer. The sum over such payloads says too much. Who keeps them all, in the order in which they came and not for long,
 * counts their pages (len rounded up to GI_PAGE) and has at most two buffers more than that; who keeps one among many compacts it. */
size_t gi_payload_pinned(const struct gi_payload *p);
/* Copies the bytes into one buffer of their own if that frees more than half of what is pinned (counted in gi_payload_copied).
 * True if it did: slices taken from `p` before then refer to other memory. For what is to be kept long. */
bool gi_payload_compact(struct gi_payload *p);

/* Bytes of payload memcpy'd in user space since start: the counter payload_bytes_copied. */
extern uint64_t gi_payload_copied;

/* Memory of payload buffers, bytes: referenced ones, and free ones this thread keeps for the next. */
extern uint64_t gi_buf_bytes_live;
uint64_t gi_buf_bytes_kept(void);

#endif
