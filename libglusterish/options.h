/* SPDX-License-Identifier: Apache-2.0
 *
 * Option tables: the only source for parsing, validation, `volume set`,
 * `volume get`, help, completion and the generated docs. A translator declares
 * a plain struct for its values and one record per option; the framework
 * parses text into the struct, so no translator parses anything itself.
 *
 *   struct wb_options { uint64_t cache_size; bool flush_behind; };
 *   static const struct gi_option wb_table[] = {
 *     { .name = "cache-size", .key = "performance.write-behind-window-size", .type = GI_OPT_SIZE,
 *       .offset = offsetof(struct wb_options, cache_size), .def = "1MB", .min = 524288, .max = 1073741824,
 *       .live = true, .level = 1, .since = "1.0", .text = "Bytes of unacknowledged writes kept per file." },
 *     GI_OPTION_END };
 *
 * Value syntax and messages: doc/spec/volume-options.md.
 */
#ifndef GI_OPTIONS_H
#define GI_OPTIONS_H

#include "libglusterish/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* C type in the values struct */
enum gi_option_type {
  GI_OPT_BOOL,            /* bool */
  GI_OPT_INT,             /* int64_t */
  GI_OPT_SIZE,            /* uint64_t, bytes */
  GI_OPT_PERCENT,         /* double, 0..100 */
  GI_OPT_PERCENT_OR_SIZE, /* struct gi_percent_or_size */
  GI_OPT_TIME,            /* uint64_t, seconds */
  GI_OPT_DOUBLE,          /* double */
  GI_OPT_STR,             /* char *, owned by the struct; NULL if unset without default */
  GI_OPT_ENUM,            /* int: index into `words`; -1 if unset without default */
  GI_OPT_PATH,            /* char *, absolute */
  GI_OPT_ADDRESS_LIST,    /* char * */
};

struct gi_percent_or_size {
  bool is_percent;
  double value; /* percent, or bytes */
};

enum gi_option_side { GI_SIDE_CLIENT = 1, GI_SIDE_BRICK = 2, GI_SIDE_SHD = 4, GI_SIDE_MGMT = 8 };

struct gi_option {
  const char *name;  /* as in the volfile; NULL ends the table */
  const char *alias; /* older volfile name accepted too, or NULL */
  const char *key;   /* of `volume set`, or NULL: not settable per volume */
  enum gi_option_type type;
  size_t offset;            /* in the values struct */
  const char *def;          /* default as text, NULL = none */
  double min, max;          /* inclusive; both 0 = no limits, max INFINITY = only a minimum; for SIZE bytes, for TIME seconds */
  const char *const *words; /* GI_OPT_ENUM (and GI_OPT_STR with a closed list): NULL-terminated */
  int (*check)(const char *value, struct gi_error *err); /* GI_OPT_STR: 0, or -1 and err; NULL: any text will do */
  bool live;                                             /* applied to a running graph */
  bool unread;    /* taken from volfiles, but nothing in this version acts on it: `volume set` refuses all but the default */
  bool wildcard;  /* `name` is an fnmatch pattern; values are only checked, read them with gi_xlator_option */
  unsigned side;  /* GI_SIDE_*; where a key's value is written; 0 = follows the translator's usual graph */
  unsigned level; /* importance 1..3 */
  unsigned op_version; /* cluster level needed, e.g. 30702 */
  const char *since;   /* version of this project */
  const char *text;    /* one or two sentences for users; tests/tidy insists */
};

#define GI_OPTION_END \
  { \
    .name = NULL \
  }

/* Finds by volfile name, alias or pattern; NULL if unknown. */
const struct gi_option *gi_option_find(const struct gi_option *table, const char *name);

/* Checks one value; on failure -1 and the message of volume-options.md ("option NAME VALUE: …"). */
GI_MUST_CHECK int gi_option_check(const struct gi_option *opt, const char *value, struct gi_error *err);

/* Parses one value into `values` (at opt->offset, freeing an earlier string). */
GI_MUST_CHECK int gi_option_parse(const struct gi_option *opt, const char *value, void *values, struct gi_error *err);

/* Writes every default into the zeroed struct `values`. Table defaults are trusted: a bad one panics. */
void gi_options_default(const struct gi_option *table, void *values);

/* Frees the strings in `values` (not the struct). */
void gi_options_free(const struct gi_option *table, void *values);

/* The words a type accepts, for help: "boolean", "size in bytes (KB MB GB TB PB)", "one of a|b|c" … into buf. */
const char *gi_option_type_text(const struct gi_option *opt, char *buf, size_t len);

/* Writes one option as a Markdown section: name, text, key, type, default, range, live or not. */
void gi_option_doc(const struct gi_option *opt, FILE *out);

/* Single parsers, used by the CLI and mount options too. Each returns false on bad text. */
bool gi_parse_bool(const char *text, bool *value);
bool gi_parse_size(const char *text, uint64_t *bytes);
bool gi_parse_time(const char *text, uint64_t *seconds);
bool gi_parse_int(const char *text, int64_t *value);

#endif
