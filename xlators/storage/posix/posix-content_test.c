/* SPDX-License-Identifier: Apache-2.0
 *
 * The content of a small file comes with its open.
 */
#include "xlators/storage/posix/posix-fixture.h"

#include <errno.h>
#include <fcntl.h>

static struct gi_fop *
open_for_content(struct brick *b, const struct brick_file *o, int flags, uint64_t max, const struct gi_iatt *has)
{
  struct gi_inode *inode = gi_inode_get(b->s->graph, &o->g);
  struct gi_fd *fd = gi_fd_new(b->s->graph, inode, flags, 100);
  struct gi_fop *f = brick_fop(b, GI_FOP_OPEN);

  gi_inode_unref(&inode);
  set_fd(f, fd);
  gi_fd_unref(&fd);
  f->args.flags = (uint32_t)flags;
  gi_dict_set_uint(gi_fop_xdata(f), GI_CONTENT_KEY, max);
  if (has)
    gi_dict_set_iatt(gi_fop_xdata(f), GI_CONTENT_STAT_KEY, has);
  assert_ok(brick_run(b, f));
  return f;
}

static bool
has_content(const struct gi_fop *f, const char *text)
{
  const void *data;
  uint32_t len;

  if (!gi_dict_get_bin(f->rsp.xdata, GI_CONTENT_KEY, &data, &len))
    return false;
  assert_int_equal(len, strlen(text));
  assert_memory_equal(data, text, len);
  return true;
}

static const struct gi_iatt *
stat_of_content(const struct gi_fop *f)
{
  const struct gi_pair *pair = gi_dict_get(f->rsp.xdata, GI_CONTENT_STAT_KEY);

  assert_non_null(pair);
  assert_int_equal(pair->type, GI_VALUE_IATT);
  return pair->iatt;
}

static void
a_small_file_comes_with_its_open(void **state)
{
  BRICK(b, "option ctime on\n");
  struct brick_file o = brick_new_file(b, "f", "12345"), empty = brick_new_file(b, "e", NULL);
  struct gi_iatt at;
  struct gi_fop *f = open_for_content(b, &o, O_RDONLY, 5, NULL);

  (void)state;
  assert_true(has_content(f, "12345"));
  at = *stat_of_content(f);
  assert_int_equal(at.size, 5);
  f = brick_lookup(b, ROOT, "f");
  assert_ok(f);
  assert_true(f->rsp.stat.mtime.sec == at.mtime.sec && f->rsp.stat.mtime.nsec == at.mtime.nsec);
  assert_true(f->rsp.stat.ctime.sec == at.ctime.sec && f->rsp.stat.ctime.nsec == at.ctime.nsec);
  assert_memory_equal(&f->rsp.stat.gfid, &at.gfid, 16);
  f = open_for_content(b, &o, O_RDWR, 100, &at); /* it has not changed */
  assert_false(has_content(f, ""));
  assert_int_equal(stat_of_content(f)->size, 5);
  assert_true(has_content(open_for_content(b, &empty, O_RDONLY, 5, NULL), ""));

  f = brick_on_fd(b, GI_FOP_WRITE, o.fd, 0, 1);
  gi_payload_add_copy(&f->payload, "x", 1);
  set_stamp(f, 2000);
  assert_int_equal(brick_run(b, f)->rsp.ret, 1);
  f = open_for_content(b, &o, O_RDWR, 100, &at);
  assert_true(has_content(f, "x2345"));
  assert_int_equal(stat_of_content(f)->mtime.sec, 2000);
  gi_fd_unref(&o.fd);
  gi_fd_unref(&empty.fd);
  brick_free(b);
}

static void
only_who_may_and_will_read_gets_it(void **state)
{
  BRICK(b, "option ctime on\n");
  struct brick_file o = brick_new_file(b, "f", "12345"), empty = brick_new_file(b, "e", NULL);
  struct gi_fop *f = open_for_content(b, &o, O_RDONLY, 4, NULL);

  (void)state;
  assert_false(has_content(f, "")); /* it is larger */
  assert_int_equal(stat_of_content(f)->size, 5);
  f = open_for_content(b, &o, O_WRONLY, 100, NULL); /* what it is now may be of use */
  assert_int_equal(stat_of_content(f)->size, 5);
  assert_false(has_content(f, ""));
  f = open_for_content(b, &empty, O_RDONLY, 0, NULL);
  assert_int_equal(stat_of_content(f)->size, 0);
  assert_false(has_content(f, ""));
  f = open_for_content(b, &o, O_WRONLY | O_TRUNC, 100, NULL);
  assert_null(gi_dict_get(f->rsp.xdata, GI_CONTENT_STAT_KEY));
  gi_fd_unref(&empty.fd);
  gi_fd_unref(&o.fd);
  brick_free(b);
}

static struct gi_fop *
find_for_content(struct brick *b, const char *name, uint64_t max, const struct gi_iatt *has)
{
  struct gi_fop *f = brick_fop(b, GI_FOP_LOOKUP);

  set_entry(f, ROOT, name);
  gi_dict_set_uint(gi_fop_xdata(f), GI_CONTENT_KEY, max);
  if (has)
    gi_dict_set_iatt(gi_fop_xdata(f), GI_CONTENT_STAT_KEY, has);
  assert_ok(brick_run(b, f));
  return f;
}

static void
a_small_file_comes_with_its_lookup(void **state)
{
  BRICK(b, "option ctime on\n");
  struct brick_file o = brick_new_file(b, "f", "12345"), empty = brick_new_file(b, "e", NULL);
  struct gi_gfid dir = brick_gfid(b);
  struct gi_fop *f = find_for_content(b, "f", 5, NULL);
  bool waits = strcmp(brick_engine, "pool") == 0; /* on a worker; it is not read there */
  struct gi_iatt at;

  (void)state;
  assert_int_equal(has_content(f, "12345"), !waits);
  at = *stat_of_content(f);
  assert_memory_equal(&at, &f->rsp.stat, sizeof(at));
  assert_false(has_content(find_for_content(b, "f", 100, &at), "")); /* the client has it */
  assert_false(has_content(find_for_content(b, "f", 4, NULL), ""));  /* it is larger */
  assert_int_equal(has_content(find_for_content(b, "e", 5, NULL), ""), !waits);
  f = find_for_content(b, "f", 0, NULL);
  assert_null(gi_dict_get(f->rsp.xdata, GI_CONTENT_STAT_KEY));
  assert_ok(brick_mkdir(b, ROOT, "d", &dir));
  f = find_for_content(b, "d", 100, NULL);
  assert_null(gi_dict_get(f->rsp.xdata, GI_CONTENT_STAT_KEY));
  gi_fd_unref(&o.fd);
  gi_fd_unref(&empty.fd);
  brick_free(b);
}

/* Its times are those of the kernel's clock: a change in the same tick would not show. */
static void
what_was_changed_just_now_is_to_be_read(void **state)
{
  BRICK(b, "option ctime off\n");
  struct brick_file o = brick_new_file(b, "f", "12345");
  struct gi_fop *f = open_for_content(b, &o, O_RDONLY, 100, NULL);

  (void)state;
  assert_false(has_content(f, ""));
  assert_int_equal(stat_of_content(f)->size, 5);
  gi_fd_unref(&o.fd);
  brick_free(b);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_small_file_comes_with_its_open),
      cmocka_unit_test(a_small_file_comes_with_its_lookup),
      cmocka_unit_test(only_who_may_and_will_read_gets_it),
      cmocka_unit_test(what_was_changed_just_now_is_to_be_read),
  };

  brick_on_disk = true;
  return BRICK_RUN_ENGINES(tests);
}
