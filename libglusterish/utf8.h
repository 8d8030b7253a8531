/* SPDX-License-Identifier: Apache-2.0
 *
 * Text that came from disks and sockets is any bytes; JSON, XML and metrics carry UTF-8 only.
 */
#ifndef GI_UTF8_H
#define GI_UTF8_H

/* Bytes of the UTF-8 sequence at `text`, which NUL ends; 0: it is none. The NUL itself is one byte. */
unsigned gi_utf8_len(const char *text);

#endif
