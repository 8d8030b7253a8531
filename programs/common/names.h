/* SPDX-License-Identifier: Apache-2.0
 *
 * How volumes and bricks are named, the same for the command line and the
 * daemon. Names and paths end up in file names and volfiles, so nothing that
 * came from outside is used before it passed the checks here.
 */
#ifndef PROG_NAMES_H
#define PROG_NAMES_H

#include "libglusterish/error.h"

#define PROG_VOLUME_NAME_MAX 256 /* bytes */

/* A usable volume name? 0, or -1 and err with the sentence for the user. */
int prog_volume_name_check(const char *name, struct gi_error *err);
/* Splits "HOST:/PATH" and makes the path canonical: no doubled or trailing slashes. "." and "..", control characters, quotes and the
 * root itself are refused. 0 and both strings, which the caller frees; or -1 and err with the sentence for the user. */
int prog_brick_parse(const char *text, char **host, char **path, struct gi_error *err);

#endif
