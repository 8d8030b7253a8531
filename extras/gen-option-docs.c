/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes doc/options.md from the option tables of all translators and of the
 * management daemon. With --check it writes nothing and lists what is wrong
 * with the tables instead; tests/tidy/options.t runs both.
 */
#include "programs/glusterishd/model/options-map.h"
#include "libglusterish/graph.h"
#include "libglusterish/mem.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MIN 15

static unsigned problems;

static __attribute__((format(printf, 3, 4))) void
problem(const char *type, const struct gi_option *o, const char *fmt, ...)
{
  va_list ap;
  va_start(ap, fmt);
  printf("%s %s%s%s: ", type, o->name, o->key ? " = " : "", o->key ? o->key : "");
  vprintf(fmt, ap);
  putchar('\n');
  va_end(ap);
  problems++;
}

static void
check_option(const char *type, const struct gi_option *o)
{
  struct gi_error err = {0};
  if (!o->text || !*o->text)
    problem(type, o, "has no text");
  else if (strlen(o->text) < TEXT_MIN)
    problem(type, o, "its text is too short to help anybody: %s", o->text);
  if (o->key && !o->since)
    problem(type, o, "does not say since which version");
  if (o->key && (o->level < 1 || o->level > 3))
    problem(type, o, "has level %u, not 1 to 3", o->level);
  if (o->type == GI_OPT_ENUM && !o->words)
    problem(type, o, "is one of some words but does not list them");
  if (o->def && gi_option_check(o, o->def, &err))
    problem(type, o, "refuses its own default: %s", err.text);
}

static const struct gi_xlator_class *
load(const char *type)
{
  void *dl;
  struct gi_error err = {0};
  const struct gi_xlator_class *cls = gi_class_load(type, &dl, &err);
  if (!cls) {
    fprintf(stderr, "gen-option-docs: %s\n", err.text);
    exit(EXIT_FAILURE);
  }
  return cls; /* stays loaded */
}

/* Every translator has at least ten numbers for messages to itself. */
static void
check_messages(const struct gi_xlator_class *cls)
{
  static unsigned bases[64], count;
  for (unsigned i = 0; cls->messages && i < count; i++)
    if (cls->messages < bases[i] + 10 && bases[i] < cls->messages + 10) {
      printf("%s: its message ids from %u on are another translator's\n", cls->type, cls->messages);
      problems++;
    }
  if (cls->messages && count < GI_ARRAY_LEN(bases))
    bases[count++] = cls->messages;
}

static void
check_class(const char *type, void *arg)
{
  const struct gi_xlator_class *cls = load(type);
  if (!cls->summary || strlen(cls->summary) < TEXT_MIN) {
    printf("%s: has no summary, or one that is too short\n", type);
    problems++;
  }
  for (const struct gi_option *o = cls->options; o && o->name; o++)
    check_option(type, o);
  check_messages(cls);
}

/* The two ends of a connection read the same settings of the transport; nobody else shares a key. */
static bool
both_ends(const struct gd_key *a, const struct gd_key *b)
{
  return a->type && b->type && strncmp(a->type, "protocol/", 9) == 0 && strncmp(b->type, "protocol/", 9) == 0 &&
         strcmp(a->opt->name, b->opt->name) == 0 && a->opt->type == b->opt->type;
}

/* Neighbours in the map with the same key. */
static void
check_keys(const struct gd_options_map *map)
{
  for (unsigned i = 0; i < gd_map_count(map); i++) {
    const struct gd_key *k = gd_map_at(map, i), *before = i ? gd_map_at(map, i - 1) : NULL;
    if (k->kind != GD_KEY_OPTION)
      check_option("glusterishd", k->opt);
    if (before && strcmp(before->key, k->key) == 0 && !both_ends(before, k))
      problem(k->type ? k->type : "glusterishd", k->opt, "its key belongs to %s (%s) already",
              before->type ? before->type : "glusterishd", before->opt->name);
  }
}

/* ---- writing ---- */

static void
write_class(const char *type, void *arg)
{
  FILE *out = arg;
  const struct gi_xlator_class *cls = load(type);
  fprintf(out, "## %s\n\n%s\n\n", type, cls->summary ? cls->summary : "");
  if (!cls->options || !cls->options->name)
    fprintf(out, "No options.\n\n");
  for (const struct gi_option *o = cls->options; o && o->name; o++)
    gi_option_doc(o, out);
}

/* The daemon's own keys have no name in a volfile. */
static void
write_key(const struct gd_key *k, FILE *out)
{
  struct gi_option o = *k->opt;
  o.name = k->key;
  o.key = NULL;
  gi_option_doc(&o, out);
}

static void
write_keys(const struct gd_options_map *map, enum gd_key_kind kind, const char *title, const char *text, FILE *out)
{
  fprintf(out, "## %s\n\n%s\n\n", title, text);
  for (unsigned i = 0; i < gd_map_count(map); i++)
    if (gd_map_at(map, i)->kind == kind)
      write_key(gd_map_at(map, i), out);
}

static int
write_all(const struct gd_options_map *map, FILE *out)
{
  fprintf(out, "# Options\n\n"
               "Generated from the option tables by `make options-doc`; do not edit.\n\n"
               "A heading is the name of the option in a volfile. \"Volume option\" is its name for `glusterish volume set`;\n"
               "an option without one is written by the management daemon, or given to `glusterishfs --xlator-option`.\n\n");
  write_keys(map, GD_KEY_SWITCH, "glusterishd: switches of a volume",
             "Volume options that decide which translators the volfile has. They have no name of their own in it.", out);
  write_keys(map, GD_KEY_POOL, "glusterishd: settings of the pool", "Set with the volume name `all`.", out);
  return gi_class_scan(write_class, out);
}

int
main(int argc, char **argv)
{
  bool check = argc == 2 && strcmp(argv[1], "--check") == 0;
  if (argc > 2 || (argc == 2 && !check)) {
    fprintf(stderr, "usage: gen-option-docs [--check]\n");
    return EXIT_FAILURE;
  }
  struct gd_options_map *map = gd_map_new();
  int ret;
  if (check) {
    ret = gi_class_scan(check_class, NULL);
    check_keys(map);
  } else {
    ret = write_all(map, stdout);
  }
  gd_map_free(&map);
  if (ret)
    fprintf(stderr, "gen-option-docs: no translators in %s: %s\n", gi_xlator_dir(), strerror(-ret));
  return ret || problems || fflush(stdout) || ferror(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
}
