/* SPDX-License-Identifier: Apache-2.0
 *
 * --set-root-xattr: a process without a mount that sets attributes of the
 * volume's root as the management daemon (pid -12) and ends. A translator of
 * this file stands on top of the client graph and waits for it to come up.
 */
#include "programs/glusterishfs/glusterishfs.h"

#include <errno.h>
#include <string.h>

#define CONNECT_NS (30 * GI_NSEC_PER_SEC)
#define TYPE "internal/set-root-xattr"

struct setter {
  struct fs_process *p;
  struct gi_xlator *x;
  struct gi_timer timer;
  unsigned next; /* setting */
  bool begun;
};

static const char *
setting(const struct setter *s)
{
  return s->p->cfg->root_xattrs.item[s->next];
}

static void
end(struct setter *s, int err, const char *why)
{
  gi_timer_cancel(&s->timer);
  if (err)
    gi_log(GI_LOG_ERROR, s->x->name, GI_MSG_CLI + 20, "%s is not set on the root: %s", setting(s), why);
  s->p->status = err ? 1 : 0;
  gi_reactor_stop(s->p->reactor);
}

static void
timed_out(void *arg)
{
  end(arg, ETIMEDOUT, "the volume cannot be reached");
}

static void set_next(struct setter *s);

static void
was_set(struct gi_fop *fop, void *arg)
{
  struct setter *s = arg;
  int err = fop->rsp.ret < 0 ? fop->rsp.err : 0;
  gi_fop_unref(fop);
  if (err) {
    end(s, err, strerror(err));
    return;
  }
  gi_log(GI_LOG_INFO, s->x->name, GI_MSG_CLI + 21, "%s is set on the root", setting(s));
  s->next++;
  set_next(s);
}

static void
set_next(struct setter *s)
{
  if (s->next == s->p->cfg->root_xattrs.count) {
    end(s, 0, NULL);
    return;
  }
  const char *eq = strchr(setting(s), '=');
  GI_CLEANUP_FREE char *name = gi_strndup(setting(s), (size_t)(eq - setting(s)));
  struct gi_fop *fop = gi_fop_new(s->x->graph, GI_FOP_SETXATTR);
  struct gi_inode *root = gi_inode_get(s->x->graph, &gi_gfid_root);
  fop->caller.pid = GI_PID_ADD_BRICK;
  gi_loc_set_inode(&fop->loc, root);
  gi_inode_unref(&root);
  fop->args.dict = gi_dict_new();
  gi_dict_set_str(fop->args.dict, name, eq + 1);
  gi_fop_submit(fop, gi_first_child(s->x), was_set, s);
}

static bool
notify(struct gi_xlator *x, enum gi_event event, struct gi_xlator *from, void *data)
{
  struct setter *s = x->private;

  if (event == GI_EVENT_PARENT_UP) {
    gi_timer_set(&s->timer, CONNECT_NS);
  } else if (event == GI_EVENT_CHILD_UP && !s->begun) {
    s->begun = true;
    set_next(s);
  }
  return false;
}

static int
init(struct gi_xlator *x, struct gi_error *err)
{
  struct setter *s = gi_new(struct setter);
  s->p = x->ctx->app;
  s->x = x;
  gi_timer_init(&s->timer, x->reactor, timed_out, s);
  x->private = s;
  return 0;
}

static void
finish(struct gi_xlator *x)
{
  struct setter *s = x->private;
  gi_timer_finish(&s->timer);
  gi_free(s);
}

static const struct gi_xlator_class setter_class = {
    .abi = GI_XLATOR_ABI,
    .type = TYPE,
    .version = GI_VERSION,
    .summary = "Sets attributes of the root once",
    .min_children = 1,
    .max_children = 1,
    .init = init,
    .finish = finish,
    .notify = notify,
};

void
fs_root_xattr_adapt(struct gi_volfile *vf)
{
  struct gi_vol_node *below = gi_volfile_top(vf);
  gi_class_register(&setter_class);
  gi_vol_node_sub(gi_vol_node_add(vf, TYPE, "set-root-xattr"), below);
}
