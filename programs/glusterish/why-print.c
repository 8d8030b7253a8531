/* SPDX-License-Identifier: Apache-2.0
 *
 * The document of one object, for people.
 */
#include "programs/glusterish/why.h"
#include "libglusterish/error.h"
#include "libglusterish/mem.h"

#include <string.h>
#include <time.h>

static const char *
time_text(double seconds, char buf[32])
{
  time_t t = (time_t)seconds;
  struct tm tm;
  if (!localtime_r(&t, &tm) || !strftime(buf, 32, "%Y-%m-%d %H:%M:%S", &tm))
    snprintf(buf, 32, "?");
  return buf;
}

static void
print_blames(FILE *out, const json_t *copy)
{
  size_t i;
  json_t *b;
  json_array_foreach(json_object_get(copy, "blamed_by"), i, b)
      fprintf(out, "      has missed changes, says %s: %lld of data, %lld of metadata, %lld of names\n", cli_str(b, "brick"),
              cli_int(b, "data"), cli_int(b, "metadata"), cli_int(b, "entry"));
  const json_t *dirty = json_object_get(copy, "dirty");
  if (dirty)
    fprintf(out, "      changes under way, or that ended without being accounted for: %lld, %lld, %lld\n",
            json_integer_value(json_array_get(dirty, 0)), json_integer_value(json_array_get(dirty, 1)),
            json_integer_value(json_array_get(dirty, 2)));
}

static void
print_copy(FILE *out, const json_t *copy, const char *gfid)
{
  char when[32];
  const char *own = cli_str(copy, "gfid");
  fprintf(out, "  %s\n", cli_str(copy, "brick"));
  if (cli_true(copy, "there"))
    fprintf(out, "      %lld bytes, changed %s, mode %04llo, owner %lld:%lld, %lld names\n", cli_int(copy, "size"),
            time_text(json_number_value(json_object_get(copy, "mtime")), when), (unsigned long long)cli_int(copy, "mode"),
            cli_int(copy, "uid"), cli_int(copy, "gid"), cli_int(copy, "links"));
  else
    fprintf(out, "      not there: %s\n", cli_str(copy, "error"));
  if (cli_true(copy, "there") && strcmp(own, gfid) != 0)
    fprintf(out, "      another object: gfid %s\n", *own ? own : "is missing");
  if (cli_true(copy, "serves_reads"))
    fprintf(out, "      serves the reads of this machine's mounts\n");
  if (json_is_false(json_object_get(copy, "up")))
    fprintf(out, "      a mount has no connection to it\n");
  if (json_is_null(json_object_get(copy, "process")))
    fprintf(out, "      no process of this machine serves it\n");
  else if (json_is_false(json_object_get(copy, "answers")))
    fprintf(out, "      %s does not answer\n", cli_str(copy, "process"));
  print_blames(out, copy);
}

static void
print_lock(FILE *out, const json_t *l)
{
  char when[32];
  unsigned long long start = (unsigned long long)cli_int(l, "start"), len = (unsigned long long)cli_int(l, "len");
  GI_CLEANUP_FREE char *end = len ? gi_asprintf("%llu", start + len - 1) : gi_strdup("end");
  GI_CLEANUP_FREE char *what = strcmp(cli_str(l, "kind"), "entry") == 0
                                   ? gi_asprintf("name %s", *cli_str(l, "name") ? cli_str(l, "name") : "(all)")
                                   : gi_asprintf("bytes %llu-%s", start, end);
  fprintf(out, "  %-8s %-5s %-9s %s on %s, since %s\n           %s, its process %lld, owner %s%s%s\n",
          cli_true(l, "granted") ? "granted" : "WAITING", cli_str(l, "type"), cli_str(l, "kind"), what, cli_str(l, "brick"),
          time_text(json_number_value(json_object_get(l, "since")), when), cli_str(l, "holder"), cli_int(l, "pid"),
          cli_str(l, "owner"), *cli_str(l, "domain") ? ", domain " : "", cli_str(l, "domain"));
}

static void
print_user(FILE *out, const json_t *u)
{
  const json_t *told = json_object_get(u, "told_s");
  char span[32];
  fprintf(out, "  %s:", cli_str(u, "name"));
  if (cli_int(u, "handles"))
    fprintf(out, " open %lld times, %lld of them to write", cli_int(u, "handles"), cli_int(u, "writing"));
  if (json_is_number(told))
    fprintf(out, "%s may keep it cached, is told of changes for %s", cli_int(u, "handles") ? ";" : "",
            doctor_span(json_number_value(told), span));
  fputc('\n', out);
}

static void
print_operation(FILE *out, const json_t *op)
{
  const json_t *waits = doctor_waits(op);
  const char *who = cli_str(op, "waits_for");
  bool brick = strcmp(cli_str(waits, "for"), "brick") == 0;
  char span[32];
  fprintf(out, "  %s in %s for %s, at %s", cli_str(op, "kind"), cli_str(op, "process_name"),
          doctor_span(json_number_value(json_object_get(op, "age_ns")) / 1e9, span),
          *cli_str(op, "at") ? cli_str(op, "at") : "?");
  if (waits)
    fprintf(out, ", waits for %s%s%s", brick ? "" : cli_str(waits, "what"), *who && !brick ? " of " : "", who);
  fputc('\n', out);
}

static void
print_error(FILE *out, const json_t *e)
{
  char when[32];
  fprintf(out, "  %s %s: %s\n", time_text(json_number_value(json_object_get(e, "time")), when), cli_str(e, "process_name"),
          cli_str(e, "text"));
}

static void
print_reason(FILE *out, const json_t *b)
{
  fprintf(out, "  %s\n", cli_str(b, "text"));
}

static void
print_list(FILE *out, const json_t *doc, const char *member, const char *title, void (*print)(FILE *out, const json_t *item))
{
  const json_t *list = json_object_get(doc, member);
  if (json_array_size(list))
    fprintf(out, "\n%s\n", title);
  for (size_t i = 0; i < json_array_size(list); i++)
    print(out, json_array_get(list, i));
}

void
why_print(FILE *out, const json_t *doc)
{
  size_t i;
  json_t *copy;
  const json_t *heal = json_object_get(doc, "heal");
  fprintf(out, "%s of volume %s: %s, gfid %s\n\nCopies\n", cli_str(doc, "path"), cli_str(doc, "volume"),
          *cli_str(doc, "type") ? cli_str(doc, "type") : "nothing", *cli_str(doc, "gfid") ? cli_str(doc, "gfid") : "not known");
  json_array_foreach(json_object_get(doc, "copies"), i, copy) print_copy(out, copy, cli_str(doc, "gfid"));
  fprintf(out, "\nHeal: %s, %s\n", cli_str(heal, "state"), cli_str(heal, "text"));
  print_list(out, doc, "locks", "Locks", print_lock);
  print_list(out, doc, "users", "Clients", print_user);
  print_list(out, doc, "inflight", "Under way", print_operation);
  print_list(out, doc, "errors", "Errors", print_error);
  print_list(out, doc, "because", "What keeps it waiting", print_reason);
}
