/* SPDX-License-Identifier: Apache-2.0
 *
 * The attribute "trusted.glusterfs.pathinfo" says on which bricks an object is
 * (volfile.md 10): "<POSIX(PATH):HOST:REALPATH>" for each of them, HOST the
 * name that the brick's machine, or the node there, has for itself.
 */
#ifndef GI_PATHINFO_H
#define GI_PATHINFO_H

#include <stdbool.h>

/* One of the bricks is on this host. Paths may contain colons and parentheses. */
bool gi_pathinfo_names(const char *pathinfo, const char *host);
/* One of them is on this machine. */
bool gi_pathinfo_is_here(const char *pathinfo);

#endif
