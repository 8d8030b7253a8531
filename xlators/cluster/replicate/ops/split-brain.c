/* SPDX-License-Identifier: Apache-2.0
 *
 * Questions of tools and users about a split brain, and their decisions, as
 * extended attributes that no brick has (replicate.md 7.10, 7.11):
 *
 *   get glusterfs.heal-info               whether the object needs a heal, for `heal info`
 *   get glusterfs.heal-sbrain             heal it by the operation in xdata, for `heal split-brain`
 *   get replica.split-brain-status        what is split, and which copies there are
 *   set replica.split-brain-choice        read this child's copy for a while; "none": end that
 *   set replica.split-brain-choice-timeout  for how long, minutes
 *   set replica.split-brain-heal-finalize   heal from this child's copy
 */
#include "xlators/cluster/replicate/ops/ops.h"

#include <ctype.h>
#include <stdlib.h>

#define HEAL_INFO "glusterfs.heal-info"
#define HEAL_SBRAIN "glusterfs.heal-sbrain"
#define STATUS "replica.split-brain-status"
#define CHOICE "replica.split-brain-choice"
#define CHOICE_TIMEOUT "replica.split-brain-choice-timeout"
#define FINALIZE "replica.split-brain-heal-finalize"
#define CHOICE_MINUTES 5
#define CHOICE_MINUTES_MAX (365 * 24 * 60)
#define FAIL_MSG "sh-fail-msg"
#define NOT_SPLIT "File not in split-brain"
#define ANY_CHANGE 0x207f /* of an invalidation: data, attributes, look it up again */

/* ---- answers ---- */

static void
answer_text(struct rep *rep, struct gi_fop *fop, const char *key, const char *text)
{
  fop->rsp.dict = gi_dict_new();
  gi_dict_set_str(fop->rsp.dict, key, text);
  rep_answer(rep, fop, (int32_t)strlen(text) + 1, 0);
}

static void
answer_failure(struct rep *rep, struct gi_fop *fop, const char *why)
{
  fop->rsp.dict = gi_dict_new();
  gi_dict_set_str(fop->rsp.dict, FAIL_MSG, why);
  gi_dict_set_str(gi_fop_rsp_xdata(fop), FAIL_MSG, why);
  rep_answer(rep, fop, -1, EIO);
}

/* Text of a value that need not end with a NUL; "" if it is not text. gi_free. */
static char *
text_of(const struct gi_dict *dict, const char *key)
{
  const void *data;
  uint32_t len;

  if (!gi_dict_get_bin(dict, key, &data, &len))
    return gi_strdup("");
  return gi_asprintf("%.*s", (int)strnlen(data, len), (const char *)data);
}

static void
begin_for_tool(struct rep_heal *h, struct rep *rep, struct gi_fop *fop)
{
  rep_heal_begin(h, rep, &rep_fop_inode(fop)->gfid, GI_PID_HEAL_TOOL);
  h->data = h->metadata = h->entry = true;
}

static void
inspect(struct rep *rep, struct gi_fop *fop, struct rep_inspection *in)
{
  struct rep_heal h;

  begin_for_tool(&h, rep, fop);
  rep_inspect(&h, in);
  rep_heal_end(&h);
}

/* `text`, or without one the errno. */
static void
answer_asked(struct rep *rep, struct gi_fop *fop, const char *text, int err)
{
  if (text)
    answer_text(rep, fop, fop->args.name, text);
  else
    rep_answer(rep, fop, -1, err);
}

/* ---- heal info ---- */

static const char *
verdict(const struct rep_inspection *in)
{
  bool marked = in->data || in->metadata || in->entry;

  if (in->split_data || in->split_metadata || in->split_entry)
    return "split-brain";
  if (!marked)
    return "no-heal";
  if (in->partial)
    return "heal";
  if (in->healing)
    return "possibly-healing";
  if (rep_is_written(in))
    return "no-heal";
  return "heal";
}

static void
tell_heal_info(void *arg)
{
  struct gi_fop *fop = arg;
  struct rep *rep = rep_of(fop->at);
  GI_CLEANUP_FREE char *text = NULL;
  struct rep_inspection in;

  inspect(rep, fop, &in);
  if (in.err == EIO)
    text = gi_strdup("split-brain"); /* the types of the copies differ */
  else if (!in.err)
    text = gi_asprintf("%s%s", verdict(&in), in.pending ? "-pending" : "");
  answer_asked(rep, fop, text, in.err);
}

/* ---- healing by decision ---- */

/* Why the operation cannot even be tried; NULL: it can. */
static const char *
check_op(const struct rep *rep, const struct rep_heal *h)
{
  if (h->op == GI_HEAL_SOURCE_BRICK && h->op_child < 0)
    return "Invalid brick name";
  if (h->op == GI_HEAL_SOURCE_BRICK && !((rep->up >> h->op_child) & 1))
    return "Brick is not up";
  if (rep->up != rep->all)
    return "Failed to obtain replies from all bricks of the replica (are they up?)";
  return NULL;
}

/* NULL: healed. Else why not. */
static const char *
heal_split(struct rep_heal *h)
{
  const char *why = check_op(h->rep, h);
  struct rep_inspection in;
  int res;

  if (why)
    return why;
  rep_inspect(h, &in);
  if (in.err && in.err != EIO)
    return strerror(in.err);
  if (!in.split_data && !in.split_metadata && !in.split_entry)
    return NOT_SPLIT;
  res = rep_heal_inode(h);
  if (res == REP_HEALED)
    return NULL;
  if (h->refusal)
    return h->refusal;
  return res < 0 ? strerror(-res) : "Another healer is at work";
}

static void
heal_by_tool(void *arg)
{
  struct gi_fop *fop = arg;
  struct rep *rep = rep_of(fop->at);
  const char *why = NULL;
  struct rep_heal h;
  bool understood;

  begin_for_tool(&h, rep, fop);
  understood = rep_heal_read_op(&h, fop->xdata);
  if (understood)
    why = heal_split(&h);
  rep_heal_end(&h);
  if (!understood)
    rep_answer(rep, fop, -1, EINVAL);
  else if (why)
    answer_failure(rep, fop, why);
  else
    answer_text(rep, fop, HEAL_SBRAIN, "healed");
}

/* ---- what users see and choose ---- */

static char *
status_text(const struct rep *rep, const struct rep_inspection *in)
{
  char *text, *longer;
  bool first = true;

  if (!in->split_data && !in->split_metadata)
    return gi_strdup("The file is not under data or metadata split-brain");
  text = gi_asprintf("data-split-brain:%s    metadata-split-brain:%s    Choices:", in->split_data ? "yes" : "no",
                     in->split_metadata ? "yes" : "no");
  rep_foreach(i, rep->up & ~(in->split_data ? rep->arbiter : 0))
  {
    longer = gi_asprintf("%s%s%s", text, first ? "" : ",", rep->x->children[i]->name);
    gi_free(text);
    text = longer;
    first = false;
  }
  return text;
}

static void
tell_status(void *arg)
{
  struct gi_fop *fop = arg;
  struct rep *rep = rep_of(fop->at);
  GI_CLEANUP_FREE char *text = NULL;
  struct rep_inspection in;

  inspect(rep, fop, &in);
  if (!in.err)
    text = status_text(rep, &in);
  answer_asked(rep, fop, text, in.err);
}

int
rep_split_choice(const struct rep *rep, struct gi_inode *inode)
{
  const struct rep_inode *ri = rep_inode(rep, inode);
  int child = ri->choice - 1;

  if (child < 0 || !((rep->up >> child) & 1) || gi_now(rep->x->reactor) > ri->choice_until)
    return -1;
  return child;
}

/* What the layers above have of another copy must go. */
static void
forget_above(struct rep *rep, struct gi_inode *inode)
{
  struct gi_invalidation inv = {.gfid = inode->gfid, .flags = ANY_CHANGE};

  gi_notify_up(rep->x, GI_EVENT_INVALIDATE, &inv);
}

static void
set_choice(struct rep *rep, struct gi_inode *inode, int child)
{
  struct rep_inode *ri = rep_inode(rep, inode);

  GI_ASSERT(child >= -1 && child < (int)rep->n);
  ri->choice = (int8_t)(child + 1);
  ri->choice_until = gi_now(rep->x->reactor) + rep->choice_minutes * 60 * GI_NSEC_PER_SEC;
  ri->need_refresh = true;
  forget_above(rep, inode);
}

static void
choose_copy(void *arg)
{
  struct gi_fop *fop = arg;
  struct rep *rep = rep_of(fop->at);
  GI_CLEANUP_FREE char *name = text_of(fop->args.dict, CHOICE);
  int child = rep_child_named(rep, name), err = 0;
  bool none = strcmp(name, "none") == 0;
  struct gi_inode *inode = rep_fop_inode(fop);
  struct rep_inspection in;

  inspect(rep, fop, &in);
  if (none)
    set_choice(rep, inode, -1);
  else if (in.err)
    err = in.err;
  else if (child < 0 || ((rep->arbiter >> child) & 1) || (!in.split_data && !in.split_metadata))
    err = EINVAL;
  else if (!((rep->up >> child) & 1))
    err = ENOTCONN;
  else
    set_choice(rep, inode, child);
  rep_answer(rep, fop, err ? -1 : 0, err);
}

static void
finalize(void *arg)
{
  struct gi_fop *fop = arg;
  struct rep *rep = rep_of(fop->at);
  GI_CLEANUP_FREE char *name = text_of(fop->args.dict, FINALIZE);
  const char *why;
  struct rep_heal h;

  begin_for_tool(&h, rep, fop);
  h.op = GI_HEAL_SOURCE_BRICK;
  h.op_child = rep_child_named(rep, name);
  why = heal_split(&h);
  if (!why)
    set_choice(rep, h.inode, -1);
  rep_heal_end(&h);
  if (why)
    answer_failure(rep, fop, why);
  else
    rep_answer(rep, fop, 0, 0);
}

static int
set_timeout(struct rep *rep, const struct gi_dict *dict)
{
  GI_CLEANUP_FREE char *text = text_of(dict, CHOICE_TIMEOUT);
  char *end;
  long minutes = strtol(text, &end, 10);

  if (!isdigit((unsigned char)text[0]) || *end || minutes < 1 || minutes > CHOICE_MINUTES_MAX)
    return EINVAL;
  rep->choice_minutes = (uint64_t)minutes;
  return 0;
}

/* ---- dispatch ---- */

void
rep_split_init(struct rep *rep)
{
  rep->choice_minutes = CHOICE_MINUTES;
}

static bool
start_task(struct rep *rep, struct gi_fop *fop, void (*task)(void *fop))
{
  if (!rep_fop_inode(fop))
    rep_answer(rep, fop, -1, EINVAL);
  else
    gi_task_start(rep->x->reactor, task, fop);
  return true;
}

bool
rep_split_get(struct rep *rep, struct gi_fop *fop)
{
  static const struct {
    const char *name;
    void (*task)(void *fop);
  } names[] = {{HEAL_INFO, tell_heal_info}, {HEAL_SBRAIN, heal_by_tool}, {STATUS, tell_status}};

  for (size_t i = 0; fop->args.name && i < GI_ARRAY_LEN(names); i++)
    if (strcmp(fop->args.name, names[i].name) == 0)
      return start_task(rep, fop, names[i].task);
  return false;
}

bool
rep_split_set(struct rep *rep, struct gi_fop *fop)
{
  int err;

  if (gi_dict_get(fop->args.dict, CHOICE))
    return start_task(rep, fop, choose_copy);
  if (gi_dict_get(fop->args.dict, FINALIZE))
    return start_task(rep, fop, finalize);
  if (!gi_dict_get(fop->args.dict, CHOICE_TIMEOUT))
    return false;
  err = set_timeout(rep, fop->args.dict);
  rep_answer(rep, fop, err ? -1 : 0, err);
  return true;
}
