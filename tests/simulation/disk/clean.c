/* SPDX-License-Identifier: Apache-2.0
 *
 * The simulated disk: whether a brick says that something waits to be
 * healed. It looks at the image directly, as compare.c does.
 */
#include "tests/simulation/disk/disk-private.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static bool __attribute__((format(printf, 3, 4))) no(char *why, size_t len, const char *fmt, ...)
{
  va_list ap;

  va_start(ap, fmt);
  vsnprintf(why, len, fmt, ap);
  va_end(ap);
  return false;
}

bool
sim_disk_indices_empty(struct sim_disk *d, const char *path, char *why, size_t len)
{
  static const char *const index[] = {"xattrop", "dirty"};

  for (unsigned i = 0; i < GI_ARRAY_LEN(index); i++) {
    GI_CLEANUP_FREE char *full = gi_asprintf("%s/.glusterfs/indices/%s", path, index[i]);
    size_t prefix = strlen(index[i]);
    int err;
    const struct sim_inode *dir = sim_walk(d, d->root, full, true, NULL, NULL, &err);

    for (unsigned n = 0; dir && n < dir->nentries; n++) /* all are links to the base file, which does not count */
      if (strncmp(dir->entry[n].name, index[i], prefix) != 0 || dir->entry[n].name[prefix] != '-')
        return no(why, len, "the index %s has %s", index[i], dir->entry[n].name);
  }
  return true;
}

bool
sim_disk_accuses(struct sim_disk *d, const char *path, const char *counter)
{
  int err;
  const struct sim_inode *i = sim_walk(d, d->root, path, true, NULL, NULL, &err);
  const struct sim_xattr *x = i ? sim_xattr_find(i, counter) : NULL;

  return x && x->len >= 4 && memcmp(x->value, "\0\0\0", 4) != 0;
}

static bool
counters_zero(const char *path, const struct sim_inode *i, char *why, size_t len)
{
  for (unsigned n = 0; n < i->nxattrs; n++) {
    const struct sim_xattr *x = &i->xattr[n];

    if (strncmp(x->name, "trusted.afr.", 12) != 0)
      continue;
    for (size_t k = 0; k < x->len; k++)
      if (x->value[k])
        return no(why, len, "%s/ has a counter %s", path, x->name);
  }
  for (unsigned n = 0; n < i->nentries; n++) {
    GI_CLEANUP_FREE char *sub = gi_asprintf("%s/%s", path, i->entry[n].name);

    if (strcmp(i->entry[n].name, ".glusterfs") != 0 && !counters_zero(sub, i->entry[n].inode, why, len))
      return false;
  }
  return true;
}

bool
sim_disk_clean(struct sim_disk *d, const char *path, char *why, size_t len)
{
  int err;
  const struct sim_inode *root = sim_walk(d, d->root, path, true, NULL, NULL, &err);

  return root && sim_disk_indices_empty(d, path, why, len) && counters_zero("", root, why, len);
}
