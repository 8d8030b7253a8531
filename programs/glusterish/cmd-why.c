/* SPDX-License-Identifier: Apache-2.0
 *
 * why and doctor: the commands. The path of an object is never touched through
 * the mount: a mount that hangs would take this program with it.
 */
#include "programs/glusterish/cli.h"
#include "programs/glusterish/why.h"

#include <mntent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define INFO_PROC 5
#define SPLITS_MAX 256u /* objects of each index: how many splits there are matters less than that there are */
#define DOCTOR_LOOKS_AT \
  (SIGHT_LAYERS | SIGHT_INFLIGHT | SIGHT_CLIENTS | SIGHT_LOCKS | SIGHT_ALL_LOCKS | SIGHT_ERRORS | SIGHT_GRAPH | SIGHT_DISKS | \
   SIGHT_VOLUMES)
#define DOCTOR_BLIND 3 /* exit status: nothing could be looked at */
#define ROOT_GFID "00000000-0000-0000-0000-000000000001"

static int
print_json(struct cli *c, json_t *doc)
{
  json_dumpf(doc, c->out, JSON_INDENT(2));
  fputc('\n', c->out);
  return CLI_OK;
}

/* ---- doctor ---- */

static void
count_splits(const json_t *sight)
{
  size_t i;
  json_t *v;
  json_array_foreach(json_object_get(sight, "volumes"), i, v)
      json_object_set_new(v, "splitBrain", json_integer(why_splits(v, sight, SPLITS_MAX)));
}

int
cli_doctor(struct cli *c, const struct cli_command *cmd, int n, char **words)
{
  if (n > 2)
    return cli_usage(c, cmd);
  if (!sight_allowed(c))
    return DOCTOR_BLIND;
  json_t *sight = sight_take(c, n > 1 ? words[1] : NULL, ROOT_GFID, DOCTOR_LOOKS_AT);
  count_splits(sight);
  json_t *findings = doctor_look(sight);
  int status = doctor_status(findings);
  if (c->json) {
    json_t *doc = json_pack("{s:O, s:i, s:I}", "findings", findings, "status", status, "processes",
                            (json_int_t)json_array_size(json_object_get(sight, "processes")));
    print_json(c, doc);
    json_decref(doc);
  } else {
    doctor_print(c->out, sight, findings);
  }
  json_decref(findings);
  json_decref(sight);
  return status;
}

/* ---- why ---- */

/* An absolute path without ".", ".." and doubled slashes, by its text alone. Caller frees. */
static char *
plain_path(const char *text)
{
  char *cwd = *text == '/' ? NULL : getcwd(NULL, 0), *save = NULL;
  GI_CLEANUP_FREE char *copy = gi_asprintf("%s/%s", cwd ? cwd : "", text);
  size_t len = 0, size = strlen(copy) + 2;
  char *out = gi_alloc(size);
  free(cwd);
  for (char *w = strtok_r(copy, "/", &save); w; w = strtok_r(NULL, "/", &save)) {
    if (strcmp(w, ".") == 0)
      continue;
    if (strcmp(w, "..") == 0) {
      while (len && out[--len] != '/')
        ;
      continue;
    }
    len += (size_t)snprintf(out + len, size - len, "/%s", w);
  }
  out[len] = '\0';
  return out;
}

/* The part of `path` below `dir`; NULL: it is not there. */
static const char *
below(const char *path, const char *dir)
{
  size_t len = strlen(dir);
  return len && strncmp(path, dir, len) == 0 && (path[len] == '/' || !path[len]) ? path + len : NULL;
}

/* The mount of ours that the path is on: its directory, or NULL. Caller frees. */
static char *
mount_of(const char *path)
{
  FILE *f = setmntent("/proc/self/mounts", "r");
  struct mntent m;
  char buf[8192], *best = NULL;
  while (f && getmntent_r(f, &m, buf, sizeof(buf))) {
    bool ours = strncmp(m.mnt_type, "fuse.gluster", 12) == 0;
    if (!below(path, m.mnt_dir) || (best && strlen(m.mnt_dir) < strlen(best)))
      continue;
    gi_free(best); /* the innermost mount counts, whosever it is */
    best = ours ? gi_strdup(m.mnt_dir) : NULL;
  }
  if (f)
    endmntent(f);
  return best;
}

/* The process behind a mount. */
static const json_t *
process_at(const json_t *sight, const char *mount)
{
  size_t i;
  json_t *p;
  json_array_foreach(json_object_get(sight, "processes"), i, p)
  {
    if (strcmp(cli_str(json_object_get(p, "about"), "mountpoint"), mount) == 0)
      return p;
  }
  return NULL;
}

/* From a path on a mount to volume and path. False after telling why not. */
static bool
find_on_mount(struct cli *c, const char *word, char **volume, char **path)
{
  GI_CLEANUP_FREE char *plain = plain_path(word);
  GI_CLEANUP_FREE char *mount = mount_of(plain);
  if (!mount) {
    fprintf(c->err, "%s is on no mount of a volume. From another machine: glusterish why VOLUME PATH\n", plain);
    return false;
  }
  json_t *sight = sight_take(c, NULL, NULL, 0);
  const json_t *p = process_at(sight, mount);
  if (p) {
    const char *subdir = cli_str(json_object_get(p, "about"), "subdir"), *rest = below(plain, mount);
    *volume = gi_strdup(cli_str(p, "volume"));
    *path = gi_asprintf("%s%s", subdir, *rest || *subdir ? rest : "/");
  } else {
    fprintf(c->err, "No process tells that it serves the mount %s. Name the volume: glusterish why VOLUME PATH\n", mount);
  }
  json_decref(sight);
  return p != NULL;
}

/* The bricks of the volume, as the daemon names them; NULL after telling why not. */
static json_t *
bricks_of(struct cli *c, const char *volume)
{
  struct cli_reply reply;
  if (c->call(c, INFO_PROC, cli_request("volume info", volume, 0, NULL), &reply))
    return NULL;
  const json_t *v = json_array_get(json_object_get(reply.doc, "volumes"), 0);
  json_t *bricks = reply.ret ? NULL : json_incref(json_object_get(v, "bricks"));
  if (!bricks)
    fprintf(c->err, "%s\n", *reply.text ? reply.text : "The volume has no bricks");
  cli_reply_clear(&reply);
  return bricks;
}

static json_t *
read_copies(const json_t *bricks, const char *path)
{
  size_t i;
  json_t *b, *copies = json_array();
  json_array_foreach(bricks, i, b)
  {
    const char *name = cli_str(b, "name"), *dir = strchr(name, '/');
    json_t *copy = why_copy(dir ? dir : "", path);
    json_object_set_new(copy, "brick", json_string(name));
    json_object_set_new(copy, "arbiter", json_boolean(cli_true(b, "isArbiter")));
    json_array_append_new(copies, copy);
  }
  return copies;
}

static int
tell_why(struct cli *c, const char *volume, const char *path)
{
  json_t *bricks = bricks_of(c, volume);
  if (!bricks)
    return CLI_FAILED;
  json_t *copies = read_copies(bricks, path);
  const char *gfid = why_gfid(copies);
  json_t *sight = sight_take(
      c, volume, gfid, SIGHT_INFLIGHT | SIGHT_CLIENTS | SIGHT_ERRORS | SIGHT_GRAPH | SIGHT_VOLUMES | (gfid ? SIGHT_LOCKS : 0));
  json_t *doc = why_document(volume, path, copies, sight);
  if (c->json)
    print_json(c, doc);
  else
    why_print(c->out, doc);
  int status = gfid ? CLI_OK : CLI_FAILED;
  json_decref(doc);
  json_decref(sight);
  json_decref(copies);
  json_decref(bricks);
  return status;
}

int
cli_why(struct cli *c, const struct cli_command *cmd, int n, char **words)
{
  GI_CLEANUP_FREE char *volume = NULL;
  GI_CLEANUP_FREE char *path = NULL;
  if (n < 2 || n > 3)
    return cli_usage(c, cmd);
  if (!sight_allowed(c))
    return CLI_FAILED;
  if (n == 2 && !find_on_mount(c, words[1], &volume, &path))
    return CLI_FAILED;
  if (n == 3) {
    GI_CLEANUP_FREE char *from_root = gi_asprintf("/%s", words[2]);
    volume = gi_strdup(words[1]);
    path = plain_path(from_root);
  }
  return tell_why(c, volume, path);
}
