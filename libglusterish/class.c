/* SPDX-License-Identifier: Apache-2.0
 *
 * Loading translator classes: one shared object per type, or a class that a
 * test registered.
 */
#include "libglusterish/graph.h"

#include <dlfcn.h>
#include <errno.h>
#include <unistd.h>

#define REGISTERED_MAX 16

/* Test classes only; written before any graph exists. */
static const struct gi_xlator_class *registered[REGISTERED_MAX];

void
gi_class_register(const struct gi_xlator_class *cls)
{
  for (unsigned i = 0; i < REGISTERED_MAX; i++) {
    if (registered[i] == cls)
      return;
    if (!registered[i]) {
      registered[i] = cls;
      return;
    }
  }
  GI_ASSERT(!"too many registered classes");
}

const char *
gi_xlator_dir(void)
{
  const char *dir = getenv("GLUSTERISH_XLATOR_DIR");

  return dir && *dir ? dir : GI_XLATOR_DIR;
}

/* "kind/name" of letters, digits and '-' only: a type never leaves the directory. */
static bool
type_is_sane(const char *type)
{
  unsigned slashes = 0;

  for (const char *p = type; *p; p++) {
    if (*p == '/')
      slashes++;
    else if (!((*p >= 'a' && *p <= 'z') || (*p >= '0' && *p <= '9') || *p == '-' || *p == '_'))
      return false;
  }
  return slashes == 1 && type[0] != '/' && type[strlen(type) - 1] != '/';
}

/* Installed: KIND/NAME.so. In a build tree libtool puts it one level deeper. */
static char *
find_file(const char *type)
{
  const char *name = strchr(type, '/') + 1;
  char *path = gi_asprintf("%s/%s.so", gi_xlator_dir(), type);

  if (access(path, F_OK) == 0)
    return path;

  char *built = gi_asprintf("%s/%s/.libs/%s.so", gi_xlator_dir(), type, name);

  if (access(built, F_OK) == 0) {
    gi_free(path);
    return built;
  }
  gi_free(built);
  return path;
}

static const struct gi_xlator_class *
check_class(const struct gi_xlator_class *cls, const char *type, const char *path, struct gi_error *err)
{
  if (!cls)
    gi_error_set(err, EINVAL, "translator file %s does not export %s", path, GI_XLATOR_SYMBOL);
  else if (cls->abi != GI_XLATOR_ABI)
    gi_error_set(err, EINVAL, "translator file %s was built for interface version %u, this program has %u", path, cls->abi,
                 GI_XLATOR_ABI);
  else if (strcmp(cls->type, type) != 0)
    gi_error_set(err, EINVAL, "translator file %s is of type %s, not %s", path, cls->type, type);
  else
    return cls;
  return NULL;
}

const struct gi_xlator_class *
gi_class_load(const char *type, void **dl, struct gi_error *err)
{
  *dl = NULL;
  for (unsigned i = 0; i < REGISTERED_MAX && registered[i]; i++)
    if (strcmp(registered[i]->type, type) == 0)
      return registered[i];
  if (!type_is_sane(type)) {
    gi_error_set(err, EINVAL, "'%s' is not a translator type (kind/name)", type);
    return NULL;
  }

  GI_CLEANUP_FREE char *path = find_file(type);

  *dl = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!*dl) {
    gi_error_set(err, ENOENT, "translator %s cannot be loaded from %s: %s", type, path,
                 access(path, F_OK) == 0 ? dlerror() : "no such file");
    return NULL;
  }

  const struct gi_xlator_class *cls = check_class(dlsym(*dl, GI_XLATOR_SYMBOL), type, path, err);

  if (!cls) {
    dlclose(*dl);
    *dl = NULL;
  }
  return cls;
}
