/* SPDX-License-Identifier: Apache-2.0
 *
 * What concerns the mount and not the session: its options, its limits in
 * sysfs, leaving it in order.
 */
#include "fuse-internal.h"

#include <stdio.h>
#include <sys/mount.h>
#include <unistd.h>

bool
mount_is_inherited(const struct bridge *b)
{
  return strncmp(bridge_options(b)->mountpoint, "/dev/fd/", 8) == 0;
}

/* ---- options ---- */

static void
add_option(struct fuse_args *args, const char *fmt, const char *value)
{
  char *text = gi_asprintf(fmt, value);
  char *opts = NULL;

  GI_ASSERT(fuse_opt_add_opt_escaped(&opts, text) == 0 && fuse_opt_add_arg(args, "-o") == 0 &&
            fuse_opt_add_arg(args, opts) == 0);
  free(opts);
  gi_free(text);
}

/* The kernel's own words that libfuse 3.14 does not know; all are the default or without meaning for FUSE. */
static bool
is_noise(const char *word, size_t len)
{
  static const char *const noise[] = {"relatime", "diratime", "atime", "strictatime", "lazyatime", "auto_unmount", "defaults"};

  for (size_t i = 0; i < GI_ARRAY_LEN(noise); i++)
    if (strlen(noise[i]) == len && memcmp(noise[i], word, len) == 0)
      return true;
  return len == 0;
}

static void
add_mountopts(struct fuse_args *args, const char *list)
{
  while (list && *list) {
    size_t len = strcspn(list, ",");

    if (!is_noise(list, len)) {
      char *word = gi_strndup(list, len);

      add_option(args, "%s", word);
      gi_free(word);
    }
    list += len + (list[len] == ',');
  }
}

void
mount_args(const struct bridge *b, struct fuse_args *args)
{
  const struct bridge_options *o = bridge_options(b);

  GI_ASSERT(fuse_opt_add_arg(args, "glusterish") == 0);
  add_option(args, "fsname=%s", o->fsname);
  add_option(args, "subtype=%s", "glusterish");
  if (!o->acl)
    add_option(args, "%s", "default_permissions");
  if (geteuid() == 0) {
    add_option(args, "%s", "allow_other");
    add_option(args, "%s", "dev");
    add_option(args, "%s", "suid");
  }
  if (o->read_only)
    add_option(args, "%s", "ro");
  add_mountopts(args, o->mountopts);
}

/* ---- limits of the mount in sysfs ---- */

struct tune_job {
  struct gi_work work;
  struct bridge *b;
  char *mountpoint;
  bool dirty_ratio;
};

/* mountinfo writes blanks and their like as octal. */
static void
unescape(char *s)
{
  char *to = s;

  for (; *s; s++, to++) {
    if (s[0] == '\\' && s[1] && s[2] && s[3]) {
      *to = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
      s += 3;
    } else {
      *to = *s;
    }
  }
  *to = '\0';
}

/* The device number of the mount: asking stat(2) would send a request to ourselves. The last line counts: mounts stack. */
static bool
find_device(const char *mountpoint, char *dev, size_t len)
{
  FILE *f = fopen("/proc/self/mountinfo", "re");
  char line[4096], number[32], point[2048];
  bool found = false;

  if (!f)
    return false;
  while (fgets(line, sizeof(line), f)) {
    if (sscanf(line, "%*d %*d %31s %*s %2047s", number, point) != 2)
      continue;
    unescape(point);
    if (strcmp(point, mountpoint) == 0) {
      snprintf(dev, len, "%s", number);
      found = true;
    }
  }
  fclose(f);
  return found;
}

static void
write_limit(const char *dev, const char *name, const char *value)
{
  char path[128];

  snprintf(path, sizeof(path), "/sys/class/bdi/%s/%s", dev, name);

  FILE *f = fopen(path, "we");

  if (!f)
    return; /* not root, or no sysfs: only slower */
  fputs(value, f);
  fclose(f);
}

static void
tune_run(struct gi_work *w)
{
  struct tune_job *job = GI_CONTAINER(w, struct tune_job, work);
  char dev[32];

  if (!find_device(job->mountpoint, dev, sizeof(dev)))
    return;
  write_limit(dev, "read_ahead_kb", "1024");
  if (job->dirty_ratio)
    write_limit(dev, "max_ratio", "100");
}

static void
tune_done(struct gi_work *w)
{
  struct tune_job *job = GI_CONTAINER(w, struct tune_job, work);

  GI_ASSERT(job->b->jobs > 0);
  job->b->jobs--;
  gi_free(job->mountpoint);
  gi_free(job);
}

void
tune_mount(struct bridge *b)
{
  const struct bridge_options *o = bridge_options(b);

  if (geteuid() != 0 || mount_is_inherited(b))
    return;

  struct tune_job *job = gi_new(struct tune_job);

  job->b = b;
  b->jobs++;
  job->mountpoint = gi_strdup(b->real_path);
  job->dirty_ratio = o->kernel_writeback_cache;
  gi_list_init(&job->work.link);
  job->work.priority = GI_PRIO_LOW;
  job->work.run = tune_run;
  job->work.done = tune_done;
  gi_work_submit(b->x->reactor, &job->work);
}

/* ---- leaving ---- */

#define LEAVE_NS (20 * GI_NSEC_PER_SEC) /* in which the kernel must have written something back; else it is cut off */

struct leave_job {
  struct gi_work work;
  struct bridge *b;
  struct session *session;
  char *path;
  uint64_t *node; /* ids of the files that are open for writing */
  uint32_t nodes;
};

static void
leave_run(struct gi_work *w)
{
  struct leave_job *job = GI_CONTAINER(w, struct leave_job, work);
  int fd;

  if (umount2(job->path, 0) == 0)
    return; /* a whole unmount writes everything back by itself */
  /* Busy: the dirty pages of the open files are ours to save, the rest is theirs. syncfs begins to write them back, all at once, and
   * current kernels do not wait for a FUSE mount; dropping the pages of a file waits. */
  fd = open(job->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd >= 0) {
    syncfs(fd);
    close(fd);
  }
  for (uint32_t i = 0; i < job->nodes; i++)
    session_drop_inode(job->session, job->node[i], true);
  umount2(job->path, MNT_DETACH);
}

static void
note_open_files(struct bridge *b, struct leave_job *job)
{
  uint32_t pos = 0;
  struct gi_fd *fd;

  job->node = gi_alloc((b->fds.count + 1) * sizeof(*job->node));
  while ((fd = id_next(&b->fds, &pos)))
    if (!fd->directory && (fd->flags & O_ACCMODE) != O_RDONLY && node_of(b, fd->inode)->id)
      job->node[job->nodes++] = node_of(b, fd->inode)->id;
}

static void
leave_done(struct gi_work *w)
{
  struct leave_job *job = GI_CONTAINER(w, struct leave_job, work);
  struct bridge *b = job->b;

  GI_ASSERT(b->leaving && b->jobs > 0 && job->session);
  session_unref(&job->session);
  gi_free(job->node);
  gi_free(job->path);
  gi_free(job);
  b->jobs--;
  if (b->state == BRIDGE_SERVING)
    session_ended(b);
}

static void
leave_late(void *arg)
{
  struct bridge *b = arg;

  if (b->m.write_bytes != b->left_bytes && b->state == BRIDGE_SERVING) {
    b->left_bytes = b->m.write_bytes;
    gi_timer_set(&b->ready_timer, LEAVE_NS);
    return;
  }
  gi_log(GI_LOG_ERROR, b->x->name, GI_MSG_FUSE + 50, "the kernel did not finish writing back; what it still holds is lost");
  if (b->state == BRIDGE_SERVING)
    session_ended(b);
}

void
mount_leave(struct gi_ctx *ctx)
{
  struct bridge *b = ctx->mount->private;

  if (b->leaving || b->state != BRIDGE_SERVING)
    return;
  b->leaving = true;
  if (mount_is_inherited(b)) {
    session_ended(b);
    return;
  }

  struct leave_job *job = gi_new(struct leave_job);

  job->b = b;
  job->session = session_ref(b->session);
  job->path = gi_strdup(b->real_path);
  note_open_files(b, job);
  gi_list_init(&job->work.link);
  job->work.priority = GI_PRIO_HIGH;
  job->work.run = leave_run;
  job->work.done = leave_done;
  session_alone(job->session, &job->work);
  b->jobs++;
  gi_work_submit(b->x->reactor, &job->work);
  b->left_bytes = b->m.write_bytes;
  b->ready_timer.fn = leave_late;
  gi_timer_set(&b->ready_timer, LEAVE_NS);
}
