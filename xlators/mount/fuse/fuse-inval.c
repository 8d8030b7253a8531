/* SPDX-License-Identifier: Apache-2.0
 *
 * Invalidations for the kernel. A notification may wait for page and inode locks
 * that belong to requests we have not answered yet. So the reactor never sends
 * one; a worker sends what has gathered. An inode is in the queue at most once, and so is its name.
 * There is one exception: attributes alone, of an inode that a request holds, wait
 * for nothing. If we are killed while a worker waits, the requests must end without
 * it (session_alone).
 *
 * Names have a queue and a worker of their own. The invalidation of a name waits for
 * the lock of its directory, and the holder of that lock may wait for the lock of a
 * file. A request that holds the lock of a file (SEEK_END) may wait here until the
 * file's pages are dropped.
 */
#include "fuse-internal.h"

#define INVAL_BATCH 64
#define INVAL_NAMES_MAX 4096 /* beyond this the kernel is not asked to save memory */

enum inval_kind { INVAL_ATTR, INVAL_DATA, INVAL_NAME, INVAL_MARK /* tells nothing: what came before it has been told */ };

#define ITEM_MAGIC 0xf05e17e3u
#define JOB_MAGIC 0xf05e10b5u

struct inval_item {
  uint32_t magic;
  struct gi_list link;
  enum inval_kind kind;
  uint64_t id;            /* of the inode, or of the parent */
  uint64_t of;            /* a name: of the node that was found by it; 0: none was */
  struct gi_inode *inode; /* referenced; NULL for a name. The kernel may forget it meanwhile, and find it anew. */
  char *name;
  void (*done)(struct bridge *b, void *arg); /* NULL: nobody waits */
  void *arg;
};

/* Belongs to the worker while it runs. */
struct inval_job {
  uint32_t magic;
  struct gi_work work;
  struct bridge *b;
  struct inval_lane *lane;
  struct session *session; /* referenced */
  struct gi_list items;
};

static void
let_inode_go(struct bridge *b, struct inval_item *it)
{
  if (!it->inode)
    return;
  GI_ASSERT(node_of(b, it->inode)->dropping > 0);
  if (--node_of(b, it->inode)->dropping == 0)
    node_of(b, it->inode)->queued = false; /* one that was never taken */
  gi_inode_unref(&it->inode);
}

static void
item_free(struct bridge *b, struct inval_item *it)
{
  GI_CHECK(it, ITEM_MAGIC);
  gi_list_del(&it->link);
  let_inode_go(b, it);
  if (it->done)
    it->done(b, it->arg);
  it->magic = 0;
  gi_free(it->name);
  gi_free(it);
}

static void
job_run(struct gi_work *w)
{
  struct inval_job *job = GI_CONTAINER(w, struct inval_job, work);

  gi_list_foreach(it, &job->items, struct inval_item, link) {
    if (it->kind == INVAL_NAME)
      session_drop_name(job->session, it->id, it->name);
    else if (it->kind != INVAL_MARK)
      session_drop_inode(job->session, it->id, it->kind == INVAL_DATA);
  }
}

static void start_job(struct bridge *b, struct inval_lane *lane);

static void
job_done(struct gi_work *w)
{
  struct inval_job *job = GI_CONTAINER(w, struct inval_job, work);
  struct bridge *b = job->b;
  struct inval_lane *lane = job->lane;

  GI_CHECK(job, JOB_MAGIC);
  gi_list_foreach_safe(it, &job->items, struct inval_item, link)
    item_free(b, it);
  session_unref(&job->session);
  GI_ASSERT(lane->job == job && b->jobs > 0);
  job->magic = 0;
  gi_free(job);
  lane->job = NULL;
  b->jobs--;
  start_job(b, lane);
}

/* From now on another of the same is not the same. */
static void
taken(struct bridge *b, const struct inval_item *it)
{
  struct node *n;

  if (it->kind == INVAL_MARK)
    return;
  if (it->kind != INVAL_NAME) {
    b->m.inval_inode++;
    GI_ASSERT(node_of(b, it->inode)->dropping > 0);
    if (!it->done)
      node_of(b, it->inode)->queued = false;
    return;
  }
  b->m.inval_entry++;
  n = it->of ? node_map_get(&b->nodes, it->of) : NULL;
  if (n)
    n->name_queued = false;
}

static void
start_job(struct bridge *b, struct inval_lane *lane)
{
  if (lane->job || gi_list_empty(&lane->items) || !b->session)
    return;

  struct inval_job *job = gi_new(struct inval_job);

  job->magic = JOB_MAGIC;
  job->b = b;
  job->lane = lane;
  job->session = session_ref(b->session);
  gi_list_init(&job->items);
  for (unsigned i = 0; i < INVAL_BATCH && !gi_list_empty(&lane->items); i++) {
    struct inval_item *it = gi_list_first(&lane->items, struct inval_item, link);

    gi_list_del(&it->link);
    gi_list_add_tail(&job->items, &it->link);
    GI_ASSERT(lane->count > 0);
    lane->count--;
    taken(b, it);
  }
  gi_list_init(&job->work.link);
  job->work.priority = GI_PRIO_NORMAL;
  job->work.run = job_run;
  job->work.done = job_done;
  session_alone(job->session, &job->work);
  lane->job = job;
  GI_ASSERT(!gi_list_empty(&job->items));
  b->jobs++;
  gi_work_submit(b->x->reactor, &job->work);
}

static void
enqueue(struct bridge *b, struct inval_lane *lane, const struct inval_item *item)
{
  struct inval_item *it = gi_new(struct inval_item);

  *it = *item;
  it->magic = ITEM_MAGIC;
  gi_list_add_tail(&lane->items, &it->link);
  lane->count++;
  start_job(b, lane);
}

static void
add_item(struct bridge *b, const struct inval_item *item)
{
  if (item->inode)
    gi_inode_ref(item->inode);
  GI_ASSERT((item->kind == INVAL_NAME) == (item->name != NULL) && (item->kind == INVAL_NAME) != (item->inode != NULL));
  enqueue(b, item->kind == INVAL_NAME ? &b->names_to_drop : &b->inodes_to_drop, item);
}

static void
add_inode(struct bridge *b, struct gi_inode *inode, struct inval_item item)
{
  node_of(b, inode)->dropping++;
  item.inode = inode;
  add_item(b, &item);
}

static uint64_t
id_to_tell(const struct bridge *b, const struct gi_inode *inode)
{
  if (b->state != BRIDGE_SERVING || !b->session)
    return 0;
  return node_kernel_id(b, inode);
}

/* Data of an inode that waits for its attributes only is upgraded. */
static void
upgrade(struct bridge *b, uint64_t id)
{
  gi_list_foreach(it, &b->inodes_to_drop.items, struct inval_item, link) {
    if (it->kind == INVAL_ATTR && it->id == id && !it->done) {
      it->kind = INVAL_DATA;
      return;
    }
  }
}

void
inval_inode(struct bridge *b, struct gi_inode *inode, bool data)
{
  struct node *n = node_of(b, inode);
  uint64_t id = id_to_tell(b, inode);

  n->attr_until = 0;
  if (id == 0)
    return;
  if (n->queued) {
    if (data)
      upgrade(b, id);
    return;
  }
  /* Set first: the item may be taken at once, which clears it. */
  n->queued = true;
  add_inode(b, inode, (struct inval_item){.kind = data ? INVAL_DATA : INVAL_ATTR, .id = id});
}

void
inval_attributes(struct bridge *b, struct gi_inode *inode)
{
  uint64_t id = id_to_tell(b, inode);

  if (id == 0)
    return;
  b->m.inval_inode++;
  fuse_lowlevel_notify_inval_inode(b->session->se, id, -1, 0);
}

void
inval_inode_then(struct bridge *b, struct gi_inode *inode, void (*done)(struct bridge *b, void *arg), void *arg)
{
  uint64_t id = id_to_tell(b, inode);

  GI_ASSERT(done);
  node_of(b, inode)->attr_until = 0;
  if (id == 0)
    done(b, arg);
  else
    add_inode(b, inode, (struct inval_item){.kind = INVAL_DATA, .id = id, .done = done, .arg = arg});
}

void
inval_then(struct bridge *b, struct inval_lane *lane, void (*done)(struct bridge *b, void *arg), void *arg)
{
  GI_ASSERT(done);
  if (!lane->job && gi_list_empty(&lane->items))
    done(b, arg);
  else
    enqueue(b, lane, &(struct inval_item){.kind = INVAL_MARK, .done = done, .arg = arg});
}

static bool
any_of(struct bridge *b, const struct gi_list *items, bool (*is)(struct bridge *b, struct gi_inode *inode, const void *arg),
       const void *arg)
{
  gi_list_foreach(it, items, struct inval_item, link) {
    struct gi_inode *inode = it->kind == INVAL_NAME ? node_find(b, it->id) : it->kind == INVAL_DATA ? it->inode : NULL;

    if (inode && is(b, inode, arg))
      return true;
  }
  return false;
}

bool
inval_any(struct bridge *b, bool (*is)(struct bridge *b, struct gi_inode *inode, const void *arg), const void *arg)
{
  const struct inval_lane *const lanes[] = {&b->inodes_to_drop, &b->names_to_drop};

  for (unsigned i = 0; i < GI_ARRAY_LEN(lanes); i++)
    if (any_of(b, &lanes[i]->items, is, arg) || (lanes[i]->job && any_of(b, &lanes[i]->job->items, is, arg)))
      return true;
  return false;
}

bool
inval_room(const struct bridge *b)
{
  return b->state == BRIDGE_SERVING && b->names_to_drop.count < INVAL_NAMES_MAX;
}

void
inval_name(struct bridge *b, struct node *n)
{
  n->name_until = 0;
  if (!n->name || n->name_queued || n->parent_id == 0 || b->state != BRIDGE_SERVING)
    return;
  n->name_queued = true;
  add_item(b, &(struct inval_item){.kind = INVAL_NAME, .id = n->parent_id, .of = n->id, .name = gi_strdup(n->name)});
}

void
inval_absent(struct bridge *b, uint64_t parent_id, char *name)
{
  if (b->state == BRIDGE_SERVING)
    add_item(b, &(struct inval_item){.kind = INVAL_NAME, .id = parent_id, .name = name});
  else
    gi_free(name);
}

static void
stop_lane(struct bridge *b, struct inval_lane *lane)
{
  gi_list_foreach_safe(it, &lane->items, struct inval_item, link)
    item_free(b, it);
  GI_ASSERT(gi_list_empty(&lane->items));
  lane->count = 0;
  if (lane->job) /* the worker knows nothing of inodes */
    gi_list_foreach(it, &lane->job->items, struct inval_item, link)
      let_inode_go(b, it);
}

void
inval_stop(struct bridge *b)
{
  stop_lane(b, &b->inodes_to_drop);
  stop_lane(b, &b->names_to_drop);
}
