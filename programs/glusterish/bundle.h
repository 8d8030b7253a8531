/* SPDX-License-Identifier: Apache-2.0
 *
 * What goes into a bundle, as text.
 */
#ifndef BUNDLE_H
#define BUNDLE_H

#include <stddef.h>

#define BUNDLE_LOG_BYTES (1u << 20) /* the end of each log */

/* The text with the values of passwords, user names and keys replaced: options of volfiles ("option password X"), members of JSON
 * ("password": "X", {"name": "auth…", "value": "X"}), settings ("password=X"), and whole private keys. Caller frees. */
char *bundle_without_secrets(const char *text);
/* The last `max` bytes of a file, from the beginning of a line; NULL: it cannot be read. Bytes that are 0 become '?'. Caller frees. */
char *bundle_tail(const char *path, size_t max);

#endif
