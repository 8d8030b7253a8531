/* SPDX-License-Identifier: Apache-2.0
 *
 * Volfiles of GlusterFS name translators this build may not have. Those that
 * only make things faster, or that are switched off, are left out with a line
 * in the log; one that is switched on and missing is an error, for doing
 * without it would break a promise. Some are options of another one here.
 */
#include "programs/glusterishfs/glusterishfs.h"

#include <dlfcn.h>
#include <errno.h>
#include <fnmatch.h>

static const struct {
  const char *type;
  const char *active[3]; /* boolean options; any that is on makes the translator indispensable */
} dispensable[] = {
    {"performance/*", {NULL}},
    {"debug/io-stats", {NULL}},
    {"features/selinux", {NULL}}, /* labels pass as plain attributes */
    {"features/trash", {"trash"}},
    {"features/changelog", {"changelog"}},
    {"features/bitrot-stub", {"bitrot"}},
    {"features/worm", {"worm", "worm-file-level"}},
    {"features/read-only", {"read-only"}},
    {"features/leases", {"leases"}},
    {"features/upcall", {"cache-invalidation"}},
    {"features/marker", {"xtime", "quota", "inode-quota"}},
    {"features/barrier", {"barrier"}},
    {"features/quota", {"server-quota"}},
    {"features/sdfs", {NULL}},
};

static const struct {
  const char *type, *now, *option; /* which is on, then */
} variants[] = {
    {"cluster/nufa", "cluster/distribute", "nufa"},
    {"cluster/switch", "cluster/distribute", "switch"},
};

static void
take_variant(struct gi_vol_node *n)
{
  for (unsigned i = 0; i < GI_ARRAY_LEN(variants); i++)
    if (strcmp(n->type, variants[i].type) == 0) {
      gi_vol_node_retype(n, variants[i].now);
      gi_vol_node_option(n, variants[i].option, "on");
    }
}

static bool
available(const char *type)
{
  void *dl = NULL;
  struct gi_error err = {0};
  bool found = gi_class_load(type, &dl, &err) != NULL;
  if (dl)
    dlclose(dl);
  return found;
}

/* A replica set of two with a third brick that only notes who is behind: as an ordinary set it would lose what that one knows. */
static int
check_arbiter(const struct gi_vol_node *n, struct gi_error *err)
{
  if (strcmp(n->type, "cluster/replicate") != 0 || !gi_vol_node_get(n, "thin-arbiter"))
    return 0;
  return gi_error_set(err, EOPNOTSUPP, "volume %s has a thin arbiter (%s), which this version does not have", n->name,
                      gi_vol_node_get(n, "thin-arbiter"));
}

/* 0 = needed, 1 = can be left out, -1 = can not, and is missing. */
static int
judge(const struct gi_vol_node *n, struct gi_error *err)
{
  for (unsigned i = 0; i < GI_ARRAY_LEN(dispensable); i++) {
    if (n->nsub != 1 || fnmatch(dispensable[i].type, n->type, 0) != 0 || available(n->type))
      continue;
    for (unsigned k = 0; k < GI_ARRAY_LEN(dispensable[i].active) && dispensable[i].active[k]; k++) {
      const char *value = gi_vol_node_get(n, dispensable[i].active[k]);
      bool on = false;
      if (value && gi_parse_bool(value, &on) && on)
        return gi_error_set(err, EOPNOTSUPP, "volume %s: %s is switched on, but this version does not have %s", n->name,
                            dispensable[i].active[k], n->type);
    }
    return 1;
  }
  return 0;
}

/* Takes `n` out: whoever stood on it stands on its child. A brick's name must survive, clients ask for it. */
static void
take_out(struct gi_volfile *vf, struct gi_vol_node *n)
{
  struct gi_vol_node *child = n->sub[0];
  gi_log(GI_LOG_INFO, "glusterishfs", GI_MSG_CLI + 30, "volume %s: %s is not in this version and is left out", n->name,
         n->type);
  gi_list_foreach(m, &vf->nodes, struct gi_vol_node, link)
    for (unsigned i = 0; i < m->nsub; i++)
      if (m->sub[i] == n)
        m->sub[i] = child;
  child->nparents += n->nparents;
  n->nparents = 0;
  if (strcmp(n->type, "debug/io-stats") == 0) {
    char *name = child->name;
    child->name = n->name;
    n->name = name;
  }
  gi_vol_node_remove(n);
}

int
fs_volfile_skip(struct gi_volfile *vf, struct gi_error *err)
{
  gi_list_foreach_safe(n, &vf->nodes, struct gi_vol_node, link) {
    take_variant(n);
    int verdict = check_arbiter(n, err) ? -1 : judge(n, err);
    if (verdict < 0)
      return -1;
    if (verdict > 0)
      take_out(vf, n);
  }
  return 0;
}
