/* SPDX-License-Identifier: Apache-2.0
 *
 * volume create: the words after the name are up to three pairs in any order,
 * then bricks, then perhaps "force" (cli.md 5.1). What can be judged from the
 * words alone is judged here, in the original's sentences.
 */
#include "programs/glusterish/cli.h"
#include "programs/common/names.h"
#include "libglusterish/options.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

struct shape {
  long replica, arbiter, thin_arbiter, disperse, data, redundancy; /* 0 = not given; disperse -1 = without a count */
  bool transport, automatic;
  long sets; /* of automatic */
  int next;  /* the first word that is no option */
};

/* The original says nothing but the usage of a name that looks like an option or a path. */
static bool
volume_name_ok(struct cli *c, const char *name)
{
  struct gi_error err = {0};
  if (*name == '\0' || *name == '-' || strchr(name, '/'))
    return false;
  if (prog_volume_name_check(name, &err) == 0)
    return true;
  fprintf(c->err, "%s\n", err.text);
  return false;
}

/* ---- the pairs ---- */

static bool
count_word(int n, char **words, int i, long *value)
{
  int64_t v;
  if (i >= n || !isdigit((unsigned char)words[i][0]) || !gi_parse_int(words[i], &v) || v > 4096)
    return false;
  *value = (long)v;
  return true;
}

static const char *
parse_replica(struct shape *s, int n, char **words)
{
  if (s->replica)
    return "replica option given twice";
  if (s->disperse || s->data || s->redundancy)
    return "replicated-dispersed volume is not supported";
  if (!count_word(n, words, s->next + 1, &s->replica) || s->replica < 2)
    return "replica count should be greater than 1";
  s->next += 2;
  if (s->next < n && strcmp(words[s->next], "arbiter") == 0) {
    if (!count_word(n, words, s->next + 1, &s->arbiter) || s->arbiter != 1 || s->replica > 3)
      return "For arbiter configuration, replica count must be 2 and arbiter count must be 1. The 3rd brick of the replica "
             "will be the arbiter";
    s->next += 2;
    s->replica = 3;
  } else if (s->next < n && strcmp(words[s->next], "thin-arbiter") == 0) {
    if (!count_word(n, words, s->next + 1, &s->thin_arbiter) || s->thin_arbiter != 1 || s->replica != 2)
      return "For thin-arbiter configuration, replica count must be 2 and thin-arbiter count must be 1. The 3rd brick of the "
             "replica will be the thin-arbiter brick";
    s->next += 2;
  }
  return NULL;
}

static const char *
parse_disperse(struct shape *s, int n, char **words)
{
  const char *word = words[s->next];
  if (s->replica)
    return "replicated-dispersed volume is not supported";
  if (cli_prefix(word, "disperse")) {
    bool counted = count_word(n, words, s->next + 1, &s->disperse);
    if (!counted)
      s->disperse = -1;
    if (counted && s->disperse < 3)
      return "disperse count must be greater than 2";
    s->next += counted ? 2 : 1;
  } else if (cli_prefix(word, "disperse-data")) {
    if (!count_word(n, words, s->next + 1, &s->data) || s->data < 2)
      return "disperse-data must be greater than 1";
    s->next += 2;
  } else {
    if (!count_word(n, words, s->next + 1, &s->redundancy) || s->redundancy < 1)
      return "redundancy must be greater than 0";
    s->next += 2;
  }
  return NULL;
}

/* "" = a usage error without words. */
static const char *
parse_transport(struct shape *s, int n, char **words)
{
  if (s->transport)
    return "'transport' option given more than one time";
  s->transport = true;
  if (s->next + 1 >= n || (strcasecmp(words[s->next + 1], "tcp") && strcasecmp(words[s->next + 1], "rdma") &&
                           strcasecmp(words[s->next + 1], "tcp,rdma")))
    return "";
  s->next += 2;
  return NULL;
}

static const char *
parse_pairs(struct shape *s, int n, char **words)
{
  const char *bad = NULL;
  for (int pair = 0; pair < 3 && s->next < n && !bad; pair++) {
    const char *word = words[s->next];
    if (cli_prefix(word, "replica"))
      bad = parse_replica(s, n, words);
    else if (cli_prefix(word, "transport"))
      bad = parse_transport(s, n, words);
    else if (cli_prefix(word, "disperse-data") || cli_prefix(word, "redundancy"))
      bad = parse_disperse(s, n, words);
    else if (strcmp(word, "arbiter") == 0)
      bad = "arbiter option must be preceded by replica option.";
    else if (strcmp(word, "thin-arbiter") == 0)
      bad = "thin-arbiter option must be preceded by replica option.";
    else
      break;
  }
  return bad;
}

/* ---- bricks ---- */

static bool
host_is_loopback_name(const char *host)
{
  return strcasecmp(host, "localhost") == 0 || strcmp(host, "127.0.0.1") == 0 || strncmp(host, "0.", 2) == 0;
}

bool
cli_add_brick(struct cli *c, json_t *bricks, const char *word, const char *duplicate)
{
  char *host, *path;
  struct gi_error err = {0};
  if (prog_brick_parse(word, &host, &path, &err)) {
    fprintf(c->err, "%s\n", err.text);
    return false;
  }
  GI_CLEANUP_FREE char *brick = gi_asprintf("%s:%s", host, path);
  bool ok = !host_is_loopback_name(host);
  if (!ok)
    fprintf(c->err, "Please provide a valid hostname/ip other than localhost, 127.0.0.1 or loopback address (0.0.0.0 to "
                    "0.255.255.255).\n");
  for (size_t i = 0; ok && i < json_array_size(bricks); i++)
    if (strcmp(json_string_value(json_array_get(bricks, i)), brick) == 0) {
      fprintf(c->err, duplicate, brick);
      ok = false;
    }
  gi_free(host);
  gi_free(path);
  if (ok && json_array_append_new(bricks, json_string(brick))) {
    fprintf(c->err, "Wrong brick type: the path is not UTF-8\n");
    ok = false;
  }
  return ok;
}

static bool
counts_fit(struct cli *c, const struct shape *s, size_t bricks)
{
  const char *bad = NULL;
  if (s->replica && bricks % (size_t)(s->replica + s->thin_arbiter))
    bad = "number of bricks is not a multiple of replica count";
  else if ((s->disperse || s->data || s->redundancy) && bricks < 3)
    bad = "number of bricks must be greater than 2";
  else if (s->disperse > 0 && bricks % (size_t)s->disperse)
    bad = "number of bricks is not a multiple of disperse count";
  if (bad)
    fprintf(c->err, "%s\n", bad);
  else if (s->disperse > 0 && s->data && s->redundancy && s->disperse != s->data + s->redundancy)
    fprintf(c->err, "Disperse count(%ld) should be equal to sum of disperse-data count(%ld) and redundancy count(%ld)\n",
            s->disperse, s->data, s->redundancy);
  else
    return true;
  return false;
}

bool
cli_replica_two_is_wanted(struct cli *c, bool force)
{
  return force ||
         cli_confirm(c, "Replica 2 volumes are prone to split-brain. Use Arbiter or Replica 3 to avoid this. See: "
                        "http://docs.gluster.org/en/latest/Administrator-Guide/Split-brain-and-ways-to-deal-with-it/.\n"
                        "Do you still want to continue?\n");
}

/* "auto" in the place of bricks, perhaps with a number of sets. */
static bool
parse_auto(struct shape *s, int n, char **words)
{
  s->automatic = s->next < n && strcmp(words[s->next], "auto") == 0;
  s->sets = 1;
  if (!s->automatic)
    return false;
  s->next++;
  if (s->next < n && count_word(n, words, s->next, &s->sets))
    s->next++;
  return s->next == n && s->sets > 0 && !s->thin_arbiter && !s->disperse && !s->data && !s->redundancy;
}

static void
print_placed(struct cli *c, const json_t *doc)
{
  const json_t *placed = json_object_get(doc, "placed");
  char size[32];
  for (size_t i = 0; i < json_array_size(placed); i++) {
    const json_t *b = json_array_get(placed, i);
    fprintf(c->out, "Brick%zu: %s (%s free)\n", i + 1, cli_str(b, "brick"),
            cli_size_text((unsigned long long)cli_int(b, "free"), size));
  }
}

static int
print_created(struct cli *c, struct cli_reply *reply, const char *name)
{
  struct cli_xml x;
  int status = reply->ret && !c->xml ? CLI_FAILED : CLI_OK;
  if (c->xml) {
    cli_xml_begin(&x, reply);
    if (!reply->ret) {
      cli_xml_open(&x, "volCreate");
      cli_xml_open(&x, "volume");
      cli_xml_text(&x, "name", cli_str(reply->doc, "name"));
      cli_xml_text(&x, "id", cli_str(reply->doc, "id"));
    }
    cli_xml_end(&x, c->out);
  } else if (reply->ret) {
    fprintf(c->err, "volume create: %s: failed: %s\n", name, reply->text);
  } else {
    fprintf(c->out, "volume create: %s: success: please start the volume to access data\n", name);
    print_placed(c, reply->doc);
  }
  cli_reply_clear(reply);
  return status;
}

int
cli_volume_create(struct cli *c, const struct cli_command *cmd, int n, char **words)
{
  struct shape s = {.next = 3};
  struct cli_reply reply;
  int status;
  if (n < 4 || !volume_name_ok(c, words[2]))
    return cli_usage(c, cmd);
  const char *bad = parse_pairs(&s, n, words);
  if (bad)
    return *bad ? cli_bad(c, cmd, "%s", bad) : cli_usage(c, cmd);
  bool force = s.next < n && strcmp(words[n - 1], "force") == 0;
  json_t *bricks = json_array();
  bool placed = parse_auto(&s, n - force, words), ok = placed || (!s.automatic && s.next < n - force);
  for (int i = s.next; ok && i < n - force; i++)
    ok = cli_add_brick(c, bricks, words[i], "Found duplicate exports %s\n");
  ok = ok && counts_fit(c, &s, json_array_size(bricks)) &&
       (s.replica != 2 || s.thin_arbiter || cli_replica_two_is_wanted(c, force));
  if (!ok) {
    json_decref(bricks);
    return cli_usage(c, cmd);
  }
  json_t *request = cli_request("volume create", words[2], n, words);
  json_object_set_new(request, "bricks", bricks);
  json_object_set_new(request, "auto", json_boolean(s.automatic));
  json_object_set_new(request, "sets", json_integer(s.sets));
  json_object_set_new(request, "replica", json_integer(s.replica ? s.replica : 1));
  json_object_set_new(request, "arbiter", json_integer(s.arbiter));
  json_object_set_new(request, "thin-arbiter", json_integer(s.thin_arbiter));
  json_object_set_new(request, "disperse", json_integer(s.disperse ? s.disperse : s.data ? s.data : s.redundancy));
  json_object_set_new(request, "force", json_boolean(force || c->wignore));
  if (cli_ask(c, 4, request, &reply, &status))
    return status;
  return print_created(c, &reply, words[2]);
}
