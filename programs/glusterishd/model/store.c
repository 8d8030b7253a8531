/* SPDX-License-Identifier: Apache-2.0
 *
 * Files of the state directory. A crash or power loss at any moment leaves
 * either the old or the new content, never a torn file: everything is written
 * by one function, and what is read is checked before it is believed.
 */
#include "programs/glusterishd/model/model.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int
sync_dir_of(const char *path, struct gi_error *err)
{
  GI_CLEANUP_FREE char *dir = gi_strdup(path);
  char *slash = strrchr(dir, '/');
  if (!slash)
    return gi_error_set(err, EINVAL, "%s is not an absolute path", path);
  slash[slash == dir] = '\0';
  int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0)
    return gi_error_set(err, errno, "cannot open directory %s: %s", dir, strerror(errno));
  int ret = fsync(fd);
  int code = errno;
  close(fd);
  if (ret)
    return gi_error_set(err, code, "cannot sync directory %s: %s", dir, strerror(code));
  return 0;
}

static int
write_all(int fd, const char *text, size_t len)
{
  while (len > 0) {
    ssize_t n = write(fd, text, len);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return -1;
    text += n;
    len -= (size_t)n;
  }
  return fsync(fd);
}

static char *
read_file(const char *path, size_t *len, struct gi_error *err)
{
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    gi_error_set(err, errno, "cannot open %s: %s", path, strerror(errno));
    return NULL;
  }
  char *text = gi_alloc(GD_KVS_MAX + 1);
  size_t got = 0;
  ssize_t n;
  while ((n = read(fd, text + got, GD_KVS_MAX + 1 - got)) > 0)
    got += (size_t)n;
  int code = n < 0 ? errno : 0;
  close(fd);
  if (code || got > GD_KVS_MAX) {
    gi_error_set(err, code ? code : EFBIG, "cannot read %s: %s", path, code ? strerror(code) : "it is too long");
    gi_free(text);
    return NULL;
  }
  text[got] = '\0';
  *len = got;
  return text;
}

bool
gd_file_has(const char *path, const char *text, size_t len)
{
  struct stat st;
  size_t n;
  if (lstat(path, &st) || !S_ISREG(st.st_mode) || (st.st_mode & 07777) != 0600 || st.st_size != (off_t)len)
    return false;
  GI_CLEANUP_FREE char *had = read_file(path, &n, NULL);
  return had && n == len && memcmp(had, text, len) == 0;
}

/* A volume that starts writes what it wrote before, a dozen files: syncing them would hold up applications on the same disk. */
int
gd_write_file(const char *path, const char *text, size_t len, bool synced, struct gi_error *err)
{
  if (gd_file_has(path, text, len))
    return synced ? 0 : sync_dir_of(path, err);
  GI_CLEANUP_FREE char *tmp = gi_asprintf("%s.tmp", path);
  int fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0)
    return gi_error_set(err, errno, "cannot create %s: %s", tmp, strerror(errno));
  int code = write_all(fd, text, len) ? errno : 0;
  if (close(fd) && !code)
    code = errno;
  if (!code && rename(tmp, path))
    code = errno;
  if (code) {
    unlink(tmp);
    return gi_error_set(err, code, "cannot write %s: %s", path, strerror(code));
  }
  return sync_dir_of(path, err);
}

static int
kvs_parse(char *text, size_t len, const char *path, struct gd_kvs *kvs, struct gi_error *err)
{
  if (strlen(text) != len)
    return gi_error_set(err, EILSEQ, "%s is damaged: it contains a NUL byte", path);
  if (len > 0 && text[len - 1] != '\n')
    return gi_error_set(err, EILSEQ, "%s is damaged: its last line has no end", path);
  unsigned line_no = 0;
  for (char *line = text, *end; *line; line = end + 1) {
    end = strchr(line, '\n');
    *end = '\0';
    line_no++;
    if (*line == '\0' || *line == '#')
      continue;
    char *eq = strchr(line, '=');
    if (!eq || eq == line)
      return gi_error_set(err, EILSEQ, "%s is damaged: line %u is not key=value", path, line_no);
    *eq = '\0';
    kvs->kv = gi_realloc(kvs->kv, (kvs->count + 1) * sizeof(*kvs->kv));
    kvs->kv[kvs->count++] = (struct gd_kv){gi_strdup(line), gi_strdup(eq + 1)};
  }
  return 0;
}

int
gd_kvs_load(const char *path, struct gd_kvs *kvs, struct gi_error *err)
{
  memset(kvs, 0, sizeof(*kvs));
  size_t len;
  GI_CLEANUP_FREE char *text = read_file(path, &len, err);
  if (!text)
    return -1;
  int ret = kvs_parse(text, len, path, kvs, err);
  if (ret)
    gd_kvs_free(kvs);
  return ret;
}

const char *
gd_kvs_get(const struct gd_kvs *kvs, const char *key)
{
  for (unsigned i = 0; i < kvs->count; i++)
    if (strcmp(kvs->kv[i].key, key) == 0)
      return kvs->kv[i].value;
  return NULL;
}

void
gd_kvs_free(struct gd_kvs *kvs)
{
  for (unsigned i = 0; i < kvs->count; i++) {
    gi_free(kvs->kv[i].key);
    gi_free(kvs->kv[i].value);
  }
  gi_free(kvs->kv);
  memset(kvs, 0, sizeof(*kvs));
}

int
gd_mkdir_all(const char *path, mode_t mode, struct gi_error *err)
{
  GI_CLEANUP_FREE char *p = gi_strdup(path);
  for (char *s = p + 1;; s++) {
    if (*s != '/' && *s != '\0')
      continue;
    char c = *s;
    *s = '\0';
    if (mkdir(p, mode) && errno != EEXIST)
      return gi_error_set(err, errno, "cannot create directory %s: %s", p, strerror(errno));
    *s = c;
    if (c == '\0')
      return 0;
  }
}

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
  return remove(path);
}

int
gd_remove_tree(const char *path, struct gi_error *err)
{
  if (nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS) && errno != ENOENT)
    return gi_error_set(err, errno, "cannot remove %s: %s", path, strerror(errno));
  return 0;
}
