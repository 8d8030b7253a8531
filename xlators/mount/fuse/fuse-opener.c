/* SPDX-License-Identifier: Apache-2.0
 *
 * Open files by who opened them. Requests name threads, and what is of
 * interest are the files of a process: those of each of its threads. A process
 * that is asked about has few threads or few others have files open, and the
 * smaller of the two is gone through.
 */
#include "fuse-internal.h"

#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

#define FEW 4u /* threads that are asked about one by one sooner than listing those of a process */

struct opener {
  struct gi_list link; /* in its bucket */
  int32_t thread;
  struct gi_list files; /* struct handle */
};

static struct gi_list *
bucket_of(struct opener_table *t, int32_t thread)
{
  return &t->bucket[(uint32_t)thread % GI_ARRAY_LEN(t->bucket)];
}

static struct opener *
find(struct opener_table *t, int32_t thread)
{
  gi_list_foreach(o, bucket_of(t, thread), struct opener, link) {
    if (o->thread == thread)
      return o;
  }
  return NULL;
}

void
opener_table_init(struct opener_table *t)
{
  t->count = 0;
  for (unsigned i = 0; i < GI_ARRAY_LEN(t->bucket); i++)
    gi_list_init(&t->bucket[i]);
}

void
opener_add(struct opener_table *t, struct handle *h, int32_t thread)
{
  struct opener *o = find(t, thread);

  GI_ASSERT(!h->opener);
  if (!o) {
    o = gi_new(struct opener);
    o->thread = thread;
    gi_list_init(&o->files);
    gi_list_add_tail(bucket_of(t, thread), &o->link);
    t->count++;
  }
  h->opener = o;
  gi_list_add_tail(&o->files, &h->of_opener);
}

void
opener_del(struct opener_table *t, struct handle *h)
{
  struct opener *o = h->opener;

  if (!o)
    return;
  h->opener = NULL;
  gi_list_del(&h->of_opener);
  if (!gi_list_empty(&o->files))
    return;
  GI_ASSERT(t->count > 0);
  t->count--;
  gi_list_del(&o->link);
  gi_free(o);
}

static bool
is_of_process(int32_t thread, int32_t process)
{
  char path[64];

  snprintf(path, sizeof(path), "/proc/%d/task/%d", (int)process, (int)thread);
  return access(path, F_OK) == 0;
}

static void
visit(struct opener *o, void (*fn)(void *arg, struct handle *h), void *arg)
{
  gi_list_foreach(h, &o->files, struct handle, of_opener)
    fn(arg, h);
}

/* Of all that have files open, those that are threads of it. */
static void
among_openers(struct opener_table *t, int32_t process, void (*fn)(void *arg, struct handle *h), void *arg)
{
  for (unsigned i = 0; i < GI_ARRAY_LEN(t->bucket); i++) {
    gi_list_foreach(o, &t->bucket[i], struct opener, link) {
      if (o->thread != process && is_of_process(o->thread, process))
        visit(o, fn, arg);
    }
  }
}

/* Of its threads, those that have files open. */
static void
among_threads(struct opener_table *t, int32_t process, DIR *tasks, void (*fn)(void *arg, struct handle *h), void *arg)
{
  for (struct dirent *e; (e = readdir(tasks));) {
    int32_t thread = atoi(e->d_name);
    struct opener *o = thread > 0 && thread != process ? find(t, thread) : NULL;

    if (o)
      visit(o, fn, arg);
  }
}

void
opener_foreach(struct opener_table *t, int32_t process, void (*fn)(void *arg, struct handle *h), void *arg)
{
  struct opener *self = find(t, process);
  unsigned others = t->count - (self ? 1 : 0);
  char path[64];
  DIR *tasks;

  if (self)
    visit(self, fn, arg);
  if (others == 0)
    return;
  snprintf(path, sizeof(path), "/proc/%d/task", (int)process);
  if (others > FEW && (tasks = opendir(path))) {
    among_threads(t, process, tasks, fn, arg);
    closedir(tasks);
  } else if (others <= FEW) {
    among_openers(t, process, fn, arg);
  }
}
