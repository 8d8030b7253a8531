/* SPDX-License-Identifier: Apache-2.0
 *
 * features/index above a temporary directory, for its tests.
 */
#ifndef INDEX_FIXTURE_H
#define INDEX_FIXTURE_H

#include "tests/unit/fake.h"
#include "xlators/features/index/index.h"

#include <ftw.h>
#include <unistd.h>

#define DIRTY "trusted.afr.dirty"
#define GFID5 "05050505-0505-0505-0505-050505050505"

struct test {
  struct fake_stack *s;
  char dir[64];
};

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
  return remove(path);
}

static void
start(struct test *t)
{
  char options[512];
  snprintf(options, sizeof(options),
           "option index-base %s/.glusterfs/indices\noption xattrop-dirty-watchlist trusted.afr.dirty\n"
           "option xattrop-pending-watchlist trusted.afr.vol-\n",
           t->dir);
  t->s = fake_stack_new("features/index", options, 1);
}

static void
setup(struct test *t)
{
  char path[128];
  snprintf(t->dir, sizeof(t->dir), "/tmp/index-test-XXXXXX");
  assert_non_null(mkdtemp(t->dir));
  snprintf(path, sizeof(path), "%s/.glusterfs", t->dir);
  assert_int_equal(mkdir(path, 0700), 0);
  start(t);
}

static void
finish(struct test *t)
{
  fake_stack_free(t->s);
  nftw(t->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static bool
there(struct test *t, const char *what)
{
  char path[512];
  struct stat st;
  snprintf(path, sizeof(path), "%s/.glusterfs/indices/%s", t->dir, what);
  return lstat(path, &st) == 0;
}

static void
wait_until(struct test *t, const char *what, bool present)
{
  for (int i = 0; i < 2000 && there(t, what) != present; i++)
    fake_wait(t->s, GI_NSEC_PER_MSEC);
  assert_int_equal(there(t, what), present);
  fake_settle(t->s);
}

static uint64_t
metric(struct test *t, const char *name)
{
  for (const struct gi_metric *m = t->s->x->cls->metrics; m->name; m++) {
    if (strcmp(m->name, name) == 0)
      return gi_metric_value(m, t->s->x->metrics);
  }
  fail_msg("no metric %s", name);
  return 0;
}

#endif
