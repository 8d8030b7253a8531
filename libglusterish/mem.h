/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory. Small allocations never fail from the caller's view: exhaustion
 * aborts with a message. Sizes that come from outside are bounded by their
 * decoder before they get here. The allocator underneath is jemalloc.
 */
#ifndef GI_MEM_H
#define GI_MEM_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

void *gi_alloc(size_t size);  /* uninitialised */
void *gi_zalloc(size_t size); /* zeroed */
void *gi_realloc(void *p, size_t size);
char *gi_strdup(const char *s); /* NULL gives NULL */
char *gi_strndup(const char *s, size_t len);
char *gi_asprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
#define gi_new(type) ((type *)gi_zalloc(sizeof(type)))
#define gi_free(p) free(p)

#define GI_CONTAINER(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))
#define GI_ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* Checks that stay on in production: a wrong pointer is caught at once (style: magic numbers). */
_Noreturn void gi_panic(const char *file, int line, const char *what);
#define GI_ASSERT(cond) ((cond) ? (void)0 : gi_panic(__FILE__, __LINE__, #cond))
#define GI_CHECK(obj, m) GI_ASSERT((obj) != NULL && (obj)->magic == (m))

static inline void
gi_cleanup_free(void *p)
{
  free(*(void **)p);
}
#define GI_CLEANUP_FREE __attribute__((cleanup(gi_cleanup_free)))

#endif
