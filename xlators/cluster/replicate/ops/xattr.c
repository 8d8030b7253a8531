/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading extended attributes. Changelog counters are hidden, ordinary names are
 * read from one good copy, and names that describe the bricks are asked of all
 * children and merged (replicate.md 5.3).
 */
#include "xlators/cluster/replicate/ops/ops.h"

#include <stdio.h>

enum merge { MERGE_PATHINFO, MERGE_WORDS, MERGE_FIRST, MERGE_LARGEST };

static const struct {
  const char *prefix;
  enum merge how;
} merged_names[] = {
    {"trusted.glusterfs.pathinfo", MERGE_PATHINFO},
    {"glusterfs.pathinfo", MERGE_PATHINFO},
    {"glusterfs.list-node-uuids", MERGE_WORDS},
    {"trusted.glusterfs.list-node-uuids", MERGE_WORDS},
    {"glusterfs.clrlk.", MERGE_WORDS},
    {"trusted.glusterfs.node-uuid", MERGE_FIRST},
    {GI_GFID_KEY, MERGE_FIRST}, /* one of them may not have the object yet */
    {"trusted.glusterfs.quota.size", MERGE_LARGEST},
};

static int
merge_of(const char *name)
{
  for (size_t i = 0; name && i < GI_ARRAY_LEN(merged_names); i++)
    if (strncmp(name, merged_names[i].prefix, strlen(merged_names[i].prefix)) == 0)
      return (int)merged_names[i].how;
  return -1;
}

static void
merge_text(const struct rep *rep, struct gi_fop *fop, const struct gi_fan *fan, bool pathinfo)
{
  char *text = NULL;
  size_t len;
  FILE *out = open_memstream(&text, &len);
  bool first = true;

  if (pathinfo)
    fprintf(out, "(<REPLICATE:%s>", rep->x->name);
  rep_foreach(i, fan->ok)
  {
    const char *word;

    if (!gi_dict_get_str(gi_fan_reply(fan, i)->rsp.dict, fop->args.name, &word))
      continue;
    fprintf(out, "%s%s", first && !pathinfo ? "" : " ", word);
    first = false;
  }
  if (pathinfo)
    fputc(')', out);
  fclose(out);
  fop->rsp.dict = gi_dict_new();
  gi_dict_set_str(fop->rsp.dict, fop->args.name, text);
  fop->rsp.ret = (int32_t)len + 1;
  free(text);
}

/* The counters begin with the size, a big-endian number: the greatest value is the most complete one. */
static unsigned
largest_value(const struct gi_fop *fop, const struct gi_fan *fan)
{
  unsigned best = (unsigned)rep_first(fan->ok);
  const void *have = NULL;
  uint32_t have_len = 0;

  rep_foreach(i, fan->ok)
  {
    const void *value;
    uint32_t len;

    if (!gi_dict_get_bin(gi_fan_reply(fan, i)->rsp.dict, fop->args.name, &value, &len))
      continue;
    if (!have || (len == have_len && memcmp(value, have, len) > 0)) {
      have = value;
      have_len = len;
      best = i;
    }
  }
  return best;
}

static void
merged_done(struct gi_fan *fan)
{
  struct gi_fop *fop = fan->arg;
  struct rep *rep = rep_of(fan->x);
  enum merge how = (enum merge)merge_of(fop->args.name);
  GI_CHECK(fop, GI_FOP_MAGIC);
  GI_ASSERT(!fop->answered && merge_of(fop->args.name) >= 0);

  if (!fan->ok) {
    int err = fan->err;

    gi_fan_clear(fan);
    rep_answer(rep, fop, -1, err ? err : ENOTCONN);
    return;
  }
  if (how == MERGE_PATHINFO || how == MERGE_WORDS)
    merge_text(rep, fop, fan, how == MERGE_PATHINFO);
  else
    gi_reply_move(fop, gi_fan_reply(fan, how == MERGE_LARGEST ? largest_value(fop, fan) : (unsigned)rep_first(fan->ok)));
  gi_fan_clear(fan);
  gi_fop_answer(fop, rep->x);
}

enum gi_verdict
rep_on_getxattr(struct gi_xlator *x, struct gi_fop *fop)
{
  struct rep *rep = rep_of(x);
  const char *name = fop->args.name;
  struct gi_fan *fan = &rep_fop(rep, fop)->fan;

  if (name && rep_marks_private_xattr(name))
    return gi_fop_fail(fop, ENODATA);
  if (!rep_ready(rep))
    return gi_fop_fail(fop, ENOTCONN);
  if (rep_split_get(rep, fop))
    return GI_HELD;
  if (merge_of(name) < 0) {
    rep_read_start(rep, fop, false);
    return GI_HELD;
  }
  rep_fan_start(fan, rep, merged_done, fop);
  gi_fan_copy(fan, fop, rep->up);
  return GI_HELD;
}
