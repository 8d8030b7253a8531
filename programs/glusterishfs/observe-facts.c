/* SPDX-License-Identifier: Apache-2.0
 *
 * The observation socket's /clients, /locks and /object: what translators know
 * of their clients, locks and objects (facts.h).
 */
#include "programs/common/observe-answer.h"
#include "programs/glusterishfs/facts.h"
#include "programs/glusterishfs/glusterishfs.h"

static void
show_clients(struct gi_observe_request *rq, void *arg)
{
  const struct fs_process *p = arg;
  ob_answer(rq, fs_facts_clients(p->ctx.graph));
}

/* False: it was refused. *there: the query names an object. */
static bool
take_gfid(struct gi_observe_request *rq, struct gi_gfid *gfid, bool *there)
{
  const char *text = gi_observe_query(rq, "gfid");
  *there = text != NULL;
  if (!text || gi_gfid_parse(text, gfid))
    return true;
  gi_observe_refuse(rq, 400, "gfid=%.64s is no gfid", text);
  return false;
}

static void
show_locks(struct gi_observe_request *rq, void *arg)
{
  const struct fs_process *p = arg;
  struct gi_gfid gfid;
  bool there;
  if (take_gfid(rq, &gfid, &there))
    ob_answer(rq, fs_facts_locks(p->ctx.graph, there ? &gfid : NULL));
}

static void
show_object(struct gi_observe_request *rq, void *arg)
{
  const struct fs_process *p = arg;
  struct gi_gfid gfid;
  bool there;
  if (!take_gfid(rq, &gfid, &there))
    return;
  if (there)
    ob_answer(rq, fs_facts_object(p->ctx.graph, &gfid));
  else
    gi_observe_refuse(rq, 400, "which object? gfid=");
}

void
fs_observe_facts(struct fs_process *p)
{
  gi_observe_add(p->ctx.observe, "/object", "application/json", show_object, p);
  if (!p->cfg->brick_name)
    return;
  gi_observe_add(p->ctx.observe, "/clients", "application/json", show_clients, p);
  gi_observe_add(p->ctx.observe, "/locks", "application/json", show_locks, p);
}
