/* SPDX-License-Identifier: Apache-2.0
 *
 * Volfiles: the text that describes a graph (volfile.md 1). Parser and
 * writer only; loading translators is graph.h.
 */
#ifndef GI_VOLFILE_H
#define GI_VOLFILE_H

#include "libglusterish/error.h"
#include "libglusterish/list.h"

#define GI_VOLFILE_MAX (16u << 20) /* largest text accepted, bytes */

struct gi_vol_option {
  struct gi_list link;
  char *name, *value;
};

struct gi_vol_node {
  struct gi_list link;
  char *name, *type;
  struct gi_list options; /* struct gi_vol_option in file order; a repeated name replaced the earlier value */
  unsigned nsub;
  struct gi_vol_node **sub;
  unsigned nparents; /* how many nodes list this one */
};

struct gi_volfile {
  struct gi_list nodes; /* struct gi_vol_node in file order: children before parents */
};

/* Parses `len` bytes (need not be NUL terminated; NUL bytes are an error). NULL and err ("line N: …", naming the word) on
 * failure: unknown or self-referring subvolume, duplicate name, missing type, unterminated volume or string … */
GI_MUST_CHECK struct gi_volfile *gi_volfile_parse(const char *text, size_t len, struct gi_error *err);
GI_MUST_CHECK struct gi_volfile *gi_volfile_load(const char *path, struct gi_error *err);
void gi_volfile_free(struct gi_volfile **vf);

/* Building one, for the management daemon. */
struct gi_volfile *gi_volfile_new(void);
/* Type and name are the caller's business to have checked: not empty, the name not used yet. */
struct gi_vol_node *gi_vol_node_add(struct gi_volfile *vf, const char *type, const char *name_fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* A new option goes in front (the list is in file order, files show the last assignment first); an old one keeps its place. */
void gi_vol_node_option(struct gi_vol_node *n, const char *name, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void gi_vol_node_sub(struct gi_vol_node *n, struct gi_vol_node *sub);
void gi_vol_node_retype(struct gi_vol_node *n, const char *type);
/* Takes a node that nobody lists out of the file and frees it. */
void gi_vol_node_remove(struct gi_vol_node *n);
const char *gi_vol_node_get(const struct gi_vol_node *n, const char *name); /* NULL if absent */
struct gi_vol_node *gi_volfile_find(const struct gi_volfile *vf, const char *name);
/* The last volume of the file: the top. NULL if there is none. */
struct gi_vol_node *gi_volfile_top(const struct gi_volfile *vf);

/* The text in the original's style (4 blanks, options in reverse order of assignment, one empty line between volumes,
 * quoted where needed; a newline inside a word becomes a blank, the grammar has no way to write it). Caller frees. */
char *gi_volfile_write(const struct gi_volfile *vf);

#endif
