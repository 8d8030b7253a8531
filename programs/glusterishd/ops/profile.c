/* SPDX-License-Identifier: Apache-2.0
 *
 * volume profile (cli.md 5.8): counting is two options of the volume, and what
 * was counted is asked from the bricks (mgmt-protocol.md 5.1).
 */
#include "programs/glusterishd/ops/op.h"
#include "libglusterish/manage-op.h"
#include "rpc/message.h"

#include <errno.h>
#include <string.h>

#define BLOCKS 32 /* sizes by power of two */

static const char latency[] = "diagnostics.latency-measurement", hits[] = "diagnostics.count-fop-hits";

/* Operations by their number in profiles. */
static const char *const kind_names[] = {
    "NULL",        "STAT",        "READLINK", "MKNOD",        "MKDIR",           "UNLINK",
    "RMDIR",       "SYMLINK",     "RENAME",   "LINK",         "TRUNCATE",        "OPEN",
    "READ",        "WRITE",       "STATFS",   "FLUSH",        "FSYNC",           "SETXATTR",
    "GETXATTR",    "REMOVEXATTR", "OPENDIR",  "FSYNCDIR",     "ACCESS",          "CREATE",
    "FTRUNCATE",   "FSTAT",       "LK",       "LOOKUP",       "READDIR",         "INODELK",
    "FINODELK",    "ENTRYLK",     "FENTRYLK", "XATTROP",      "FXATTROP",        "FGETXATTR",
    "FSETXATTR",   "RCHECKSUM",   "SETATTR",  "FSETATTR",     "READDIRP",        "FORGET",
    "RELEASE",     "RELEASEDIR",  "GETSPEC",  "FREMOVEXATTR", "FALLOCATE",       "DISCARD",
    "ZEROFILL",    "IPC",         "SEEK",     "LEASE",        "COMPOUND",        "GETACTIVELK",
    "SETACTIVELK", "PUT",         "ICREATE",  "NAMELINK",     "COPY_FILE_RANGE",
};

/* The volume must run, and there is no server for NFS that could be asked. */
static int
check(const struct gd_op *op, struct gi_error *err)
{
  const struct gd_volume *v = op->volume;
  if (v->status != GD_STARTED)
    return gi_error_set(err, GD_ERR_MGMT, "Volume %s is not started.", v->name);
  if (gd_op_flag(op, "nfs"))
    return gi_error_set(err, GD_ERR_MGMT, "NFS server is disabled for volume %s", v->name);
  return 0;
}

/* ---- start, stop ---- */

int
gd_op_profile(struct gd_op *op, struct gi_error *err)
{
  struct gd_volume *v = op->volume;
  const char *what = gd_op_str(op, "op");
  bool start = what && strcmp(what, "start") == 0, on = gd_volume_bool(v, latency, false) && gd_volume_bool(v, hits, false);
  if (!start && (!what || strcmp(what, "stop") != 0))
    return gi_error_set(err, EINVAL, "unknown profile operation \"%.32s\"", what ? what : "");
  if (check(op, err))
    return GD_OP_FAILED;
  if (start == on)
    return gi_error_set(err, GD_ERR_MGMT, "Profile on Volume %s is %s started", v->name, on ? "already" : "not");
  const char *value = start ? "on" : NULL, *pairs[] = {latency, value, hits, value};
  return gd_op_set_options(op, pairs, GI_ARRAY_LEN(pairs));
}

/* ---- info ---- */

static bool __attribute__((format(printf, 3, 4))) fact(const struct gi_dict *d, const char **text, const char *fmt, ...)
{
  char key[64];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(key, sizeof(key), fmt, ap);
  va_end(ap);
  return gi_dict_get_str(d, key, text);
}

static json_int_t
whole(const struct gi_dict *d, long set, const char *what)
{
  const char *text;
  return fact(d, &text, "%ld-%s", set, what) ? strtoll(text, NULL, 10) : 0;
}

static json_t *
blocks(const struct gi_dict *d, long set)
{
  json_t *list = json_array();
  for (unsigned b = 0; b < BLOCKS; b++) {
    char reads[32], writes[32];
    snprintf(reads, sizeof(reads), "read-%llu", 1ull << b);
    snprintf(writes, sizeof(writes), "write-%llu", 1ull << b);
    json_int_t r = whole(d, set, reads), w = whole(d, set, writes);
    if (r || w)
      json_array_append_new(list, json_pack("{s:I,s:I,s:I}", "size", (json_int_t)1 << b, "reads", r, "writes", w));
  }
  return list;
}

static json_t *
kinds(const struct gi_dict *d, long set)
{
  static const char *const times[] = {"avg", "min", "max", "p50", "p95", "p99"};
  json_t *list = json_array();
  for (unsigned k = 0; k < GI_ARRAY_LEN(kind_names); k++) {
    const char *text;
    if (!fact(d, &text, "%ld-%u-hits", set, k))
      continue;
    json_t *kind = json_pack("{s:s,s:I}", "name", kind_names[k], "hits", (json_int_t)strtoll(text, NULL, 10));
    for (unsigned t = 0; t < GI_ARRAY_LEN(times); t++)
      if (fact(d, &text, "%ld-%u-%slatency", set, k, times[t]))
        json_object_set_new(kind, times[t], json_real(strtod(text, NULL)));
    json_array_append_new(list, kind);
  }
  return list;
}

static void
put_set(json_t *brick, const struct gi_dict *d, const char *which)
{
  int64_t set;
  if (!gi_dict_get_int(d, which, &set))
    return;
  json_object_set_new(brick, which,
                      json_pack("{s:I,s:I,s:I,s:I,s:o,s:o}", "number", (json_int_t)set, "duration",
                                whole(d, (long)set, "duration"), "totalRead", whole(d, (long)set, "total-read"), "totalWrite",
                                whole(d, (long)set, "total-write"), "blocks", blocks(d, (long)set), "fops",
                                kinds(d, (long)set)));
}

static void
brick_said(struct gd_op *op, json_t *brick, int err, const struct gi_dict *dict)
{
  put_set(brick, dict, "cumulative");
  put_set(brick, dict, "interval");
  if (gi_dict_get(dict, "stats-cleared"))
    json_object_set_new(brick, "cleared", json_true());
  if (err)
    json_object_set_new(brick, "error", json_string(strerror(err)));
}

static int
info_number(const char *what)
{
  static const char *const words[] = {
      [GI_PROFILE_ALL] = "all",
      [GI_PROFILE_INCREMENTAL] = "incremental",
      [GI_PROFILE_CUMULATIVE] = "cumulative",
      [GI_PROFILE_CLEAR] = "clear",
  };
  for (int i = GI_PROFILE_ALL; i <= GI_PROFILE_CLEAR; i++)
    if (what && strcmp(what, words[i]) == 0)
      return i;
  return 0;
}

int
gd_op_profile_info(struct gd_op *op, struct gi_error *err)
{
  struct gd_volume *v = op->volume;
  const char *what = gd_op_str(op, "info");
  int number = info_number(what);
  if (!number)
    return gi_error_set(err, EINVAL, "unknown profile information \"%.32s\"", what ? what : "");
  if (check(op, err))
    return GD_OP_FAILED;
  if (!gd_volume_bool(v, latency, false) || !gd_volume_bool(v, hits, false))
    return gi_error_set(err, GD_ERR_MGMT, "Profile on Volume %s is not started", v->name);
  struct gi_dict *in = gi_dict_new();
  gi_dict_set_int(in, "op", GI_INFO_PROFILE);
  gi_dict_set_int(in, "info-op", number);
  gi_dict_set_int(in, "peek", gd_op_flag(op, "peek"));
  gi_dict_set_str(in, "volname", v->name);
  return gd_op_ask_bricks(op, NULL, GI_BRICK_XLATOR_INFO, in, brick_said, NULL);
}
