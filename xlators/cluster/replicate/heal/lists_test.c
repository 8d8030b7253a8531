/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists of changed names over real bricks, of which one has lost its own with
 * its power, and the marks beside them: it counts as good, and another brick
 * knows what is to be healed.
 */
#include "xlators/cluster/replicate/testing/testbed.h"

#include <unistd.h>

static const char *const variants[] = {"option granular-entry-heal on\noption use-anonymous-inode on\n",
                                       "option granular-entry-heal off\noption use-anonymous-inode on\n"};

static void
run(struct yard *y, unsigned brick, const char *command, const char *path)
{
  GI_CLEANUP_FREE char *text = gi_asprintf("%s %s/%u/%s", command, y->dir, brick, path);

  assert_int_equal(system(text), 0);
}

static void
remove_by_gfid(struct yard *y, unsigned brick, const char *command, const char *where, const struct gi_gfid *gfid)
{
  char text[GI_UUID_TEXT], path[128];

  gi_gfid_text(gfid, text);
  snprintf(path, sizeof(path), "%s/%s", where, text);
  run(y, brick, command, path);
}

/* The brick goes back to when nothing had the name, and it accused nobody. */
static void
lose(struct yard *y, unsigned brick, const char *dir, const char *name, unsigned accused)
{
  GI_CLEANUP_FREE char *path = gi_asprintf("%s/%s", dir, name);
  struct gi_gfid file = yard_disk_gfid(y, brick, path), gfid = yard_disk_gfid(y, brick, dir);
  char where[64];

  run(y, brick, "rm", path);
  snprintf(where, sizeof(where), ".glusterfs/%02x/%02x", file.b[0], file.b[1]);
  remove_by_gfid(y, brick, "rm", where, &file);
  remove_by_gfid(y, brick, "rm -f", ".glusterfs/indices/xattrop", &file);
  remove_by_gfid(y, brick, "rm -f", ".glusterfs/indices/xattrop", &gfid);
  remove_by_gfid(y, brick, "rm -rf", ".glusterfs/indices/entry-changes", &gfid);
  yard_set_mark(y, brick, dir, accused, (int32_t[REP_TYPES]){0});
}

/* One was away while a file got another name, and another file its own. Of the others one forgets the second. */
static void
a_good_brick_has_lost_its_list(void **state)
{
  (void)state;
  for (unsigned i = 0; i < GI_ARRAY_LEN(variants) * YARD * YARD; i++) {
    unsigned stale = i % YARD, lost = i / YARD % YARD;
    struct gi_gfid right;

    if (stale == lost)
      continue;
    YARD_NEW(y, variants[i / (YARD * YARD)]);
    yard_mkdir(y, "d");
    yard_create(y, "d/f", "first");
    yard_link(y, "other", "d/f");
    yard_down(y, stale);
    yard_unlink(y, "d/f");
    yard_create(y, "d/f", "second");
    right = yard_disk_gfid(y, lost, "d/f");
    lose(y, lost, "d", "f", stale);
    yard_up(y, stale);
    assert_int_equal(yard_heal(y), 0);
    yard_same(y, true);
    yard_no_marks(y);
    for (unsigned k = 0; k < YARD; k++) {
      struct gi_gfid gfid = yard_disk_gfid(y, k, "d/f");

      assert_true(gi_gfid_equal(&gfid, &right));
    }
    yard_free(y);
  }
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_good_brick_has_lost_its_list),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
