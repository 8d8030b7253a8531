/* SPDX-License-Identifier: Apache-2.0
 *
 * info, info summary, info split-brain (replicate.md 7.10): per brick the names
 * of its indices, and for each what the replica set says to that. Also: is
 * anything pending?
 */
#include "programs/heal/heal.h"

#include <errno.h>
#include <string.h>

struct pass {
  enum heal_index index;
  bool all_connected; /* every brick of the set: only then is "does not exist" certain */
  uint64_t found;
  bool any; /* one is enough (heal_pending) */
};

static bool
begins(const char *text, const char *with, const char **rest)
{
  size_t len = strlen(with);
  if (strncmp(text, with, len) != 0)
    return false;
  *rest = text + len;
  return true;
}

/* What the set says of an object: false: nothing to heal. A set that cannot tell leaves it pending, for it is in the index. */
static bool
judge(const char *text, enum heal_index index, enum heal_state *state)
{
  const char *rest = "";
  *state = HEAL_STATE_PENDING;
  if (!text)
    return true;
  if (begins(text, "no-heal", &rest))
    return false;
  if (begins(text, "split-brain", &rest))
    *state = HEAL_STATE_SPLIT;
  else if (begins(text, "possibly-healing", &rest))
    *state = HEAL_STATE_HEALING;
  else
    begins(text, "heal", &rest);
  /* What is pending stands in the other index too. */
  return index != HEAL_INDEX_DIRTY || strcmp(rest, "-pending") != 0;
}

static const char *
verdict_text(const struct gi_dict *dict)
{
  const char *text = NULL;
  if (!gi_dict_get_str(dict, "glusterfs.heal-info", &text))
    gi_dict_get_str(dict, "heal-info", &text);
  return text;
}

static void
look(struct heal *h, struct heal_brick *b, const struct gi_gfid *dir, const struct gi_gfid *gfid, void *arg)
{
  struct pass *pass = arg;
  struct gi_fop *reply;
  enum heal_state state;
  if (pass->any && pass->found)
    return;
  int err = heal_getxattr(h, b->set->xlator, gfid, "glusterfs.heal-info", NULL, &reply);
  bool listed = judge(err ? NULL : verdict_text(reply->rsp.dict), pass->index, &state);
  gi_fop_unref(reply);
  if (err == ENOENT || err == ESTALE) {
    if (pass->all_connected)
      heal_index_drop(h, b, dir, gfid);
    return;
  }
  if (!listed)
    return;
  pass->found++;
  if (pass->any)
    return;
  bool shown = h->command == HEAL_INFO || (h->command == HEAL_SPLITS && state == HEAL_STATE_SPLIT);
  GI_CLEANUP_FREE char *path = shown ? heal_path(h, b, gfid) : NULL;
  heal_report_entry(&h->report, gfid, path, state);
}

static bool
all_connected(struct heal *h, const struct heal_set *set)
{
  for (unsigned i = 0; i < h->nbricks; i++)
    if (h->bricks[i].set == set && !heal_connected(h, &h->bricks[i]))
      return false;
  return true;
}

static int
both_indices(struct heal *h, struct heal_brick *b, struct pass *pass)
{
  pass->all_connected = all_connected(h, b->set);
  pass->index = HEAL_INDEX_PENDING;
  int err = heal_index_list(h, b, HEAL_INDEX_PENDING, look, pass);
  pass->index = HEAL_INDEX_DIRTY;
  return err ? err : heal_index_list(h, b, HEAL_INDEX_DIRTY, look, pass);
}

int
heal_info(struct heal *h)
{
  for (unsigned i = 0; i < h->nbricks; i++) {
    struct heal_brick *b = &h->bricks[i];
    struct pass pass = {0};
    bool connected = heal_connected(h, b);
    heal_report_brick(&h->report, b->name, connected ? b->uuid : NULL);
    heal_report_brick_end(&h->report, connected ? both_indices(h, b, &pass) : ENOTCONN);
  }
  if (h->command == HEAL_SUMMARY)
    heal_volume_progress(h);
  heal_report_end(&h->report, 0, "");
  return 0;
}

int
heal_pending(struct heal *h)
{
  struct pass pass = {.any = true};
  int err = 0;
  for (unsigned i = 0; i < h->nbricks && !pass.found; i++) {
    int e = both_indices(h, &h->bricks[i], &pass);
    err = err ? err : e;
  }
  if (pass.found)
    heal_report_end(&h->report, err = EAGAIN,
                    "One or more entries need heal. Please execute the command again after there are no entries to be healed");
  else if (err)
    heal_report_end(&h->report, err, "Not all bricks can tell whether something needs heal");
  return err;
}
