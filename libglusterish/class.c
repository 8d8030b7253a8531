/* SPDX-License-Identifier: Apache-2.0
 *
 * Loading translator classes: one shared object per type, or a class that a
 * test registered.
 */
#include "libglusterish/graph.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <unistd.h>

#define REGISTERED_MAX 16

/* Test classes only; written before any graph exists. */
static const struct gi_xlator_class *registered[REGISTERED_MAX];

void
gi_class_register(const struct gi_xlator_class *cls)
{
  GI_ASSERT(cls->abi == GI_XLATOR_ABI && cls->type && strchr(cls->type, '/'));
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

static const struct gi_xlator_class *
find_registered(const char *type)
{
  for (unsigned i = 0; i < REGISTERED_MAX && registered[i]; i++)
    if (strcmp(registered[i]->type, type) == 0)
      return registered[i];
  return NULL;
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
    gi_error_set(err, EINVAL, "translator file %s is of another build than this program (interface %08x, not %08x)", path,
                 cls->abi, GI_XLATOR_ABI);
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
  if (find_registered(type))
    return find_registered(type);
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

/* ---- all there are ---- */

struct type_list {
  unsigned count;
  char **types;
};

static int
compare_types(const void *a, const void *b)
{
  return strcmp(*(char *const *)a, *(char *const *)b);
}

/* KIND/NAME.so when installed, KIND/NAME/.libs/NAME.so in a build tree: find_file() knows both. */
static void
add_type(struct type_list *list, const char *kind, const char *entry)
{
  size_t len = strlen(entry);
  bool file = len > 3 && strcmp(entry + len - 3, ".so") == 0;
  char *type = gi_asprintf("%s/%.*s", kind, (int)(file ? len - 3 : len), entry);
  GI_CLEANUP_FREE char *path = type_is_sane(type) ? find_file(type) : NULL;

  if (!path || access(path, F_OK) != 0) {
    gi_free(type);
    return;
  }
  list->types = gi_realloc(list->types, (list->count + 1) * sizeof(*list->types));
  list->types[list->count++] = type;
}

static void
scan_kind(struct type_list *list, const char *kind)
{
  GI_CLEANUP_FREE char *path = gi_asprintf("%s/%s", gi_xlator_dir(), kind);
  DIR *d = kind[0] != '.' ? opendir(path) : NULL;

  if (!d)
    return;
  for (struct dirent *e; (e = readdir(d)) != NULL;)
    if (e->d_name[0] != '.')
      add_type(list, kind, e->d_name);
  closedir(d);
}

int
gi_class_scan(void (*fn)(const char *type, void *arg), void *arg)
{
  struct type_list list = {0};
  DIR *d;

  for (unsigned i = 0; i < REGISTERED_MAX && registered[i]; i++)
    fn(registered[i]->type, arg);
  d = opendir(gi_xlator_dir());
  if (!d)
    return errno;
  for (struct dirent *e; (e = readdir(d)) != NULL;)
    scan_kind(&list, e->d_name);
  closedir(d);
  if (list.count)
    qsort(list.types, list.count, sizeof(*list.types), compare_types);
  for (unsigned i = 0; i < list.count; i++) {
    if (!find_registered(list.types[i]) &&
        (i == 0 || strcmp(list.types[i], list.types[i - 1]) != 0)) /* may be there under both names */
      fn(list.types[i], arg);
  }
  for (unsigned i = 0; i < list.count; i++)
    gi_free(list.types[i]);
  gi_free(list.types);
  return 0;
}
