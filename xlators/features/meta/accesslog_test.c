/* SPDX-License-Identifier: Apache-2.0
 *
 * The access log of features/meta: what a line says, that a reader waits and can
 * be interrupted, and that a slow one is told what it has lost.
 */
#include "tests/unit/fake.h"

#include <errno.h>
#include <fcntl.h>
#include <regex.h>
#include <stdlib.h>

static struct gi_fop *
look(struct fake_stack *s, const struct gi_gfid *dir, const char *name)
{
  struct gi_fop *f = fake_fop(s, GI_FOP_LOOKUP);
  struct gi_inode *inode = gi_inode_get(s->graph, dir);

  gi_fop_set_entry(f, &f->loc, inode, name);
  gi_inode_unref(&inode);
  fake_submit(s, f);
  return f;
}

static struct gi_fop *
open_log(struct fake_stack *s, int flags)
{
  struct gi_fop *dir = look(s, &gi_gfid_root, ".glusterish"), *file = look(s, &dir->rsp.stat.gfid, "accesslog");
  struct gi_inode *inode = gi_inode_get(s->graph, &file->rsp.stat.gfid);
  struct gi_fd *fd = gi_fd_new(s->graph, inode, flags, 100);
  struct gi_fop *f = fake_fop(s, GI_FOP_OPEN);

  assert_int_equal(file->rsp.ret, 0);
  gi_fop_set_fd(f, fd);
  gi_fd_unref(&fd);
  gi_inode_unref(&inode);
  f->args.flags = (uint32_t)flags;
  fake_submit(s, f);
  return f;
}

static struct gi_fop *
read_log(struct fake_stack *s, struct gi_fop *opened, uint64_t size)
{
  struct gi_fop *f = fake_fop(s, GI_FOP_READ);

  gi_fop_set_fd(f, opened->fd);
  f->args.size = size;
  fake_submit(s, f);
  return f;
}

static void
submit_write(struct fake_stack *s, int err)
{
  struct gi_fop *f = fake_fop(s, GI_FOP_WRITE);

  fake_script(s, 0, GI_FOP_WRITE, (struct fake_reply){.ret = err ? -1 : 5, .err = err});
  gi_fop_set_fd(f, fake_fd(s, 1));
  f->args.offset = 4096;
  gi_payload_add_copy(&f->payload, "hello", 5);
  fake_submit(s, f);
}

static void
text_of(const struct gi_fop *f, char *buf, size_t size)
{
  assert_true(f->answered && f->rsp.ret >= 0 && (size_t)f->rsp.ret < size);
  buf[gi_payload_read(&f->rsp.payload, 0, buf, size - 1)] = '\0';
}

static void
assert_like(const char *text, const char *pattern)
{
  regex_t re;

  assert_int_equal(regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB), 0);
  if (regexec(&re, text, 0, NULL, 0) != 0)
    fail_msg("'%s' is not like %s", text, pattern);
  regfree(&re);
}

#define STAMP "^[0-9]{4}\\.[0-9]{2}\\.[0-9]{2} [0-9:]{8}\\.[0-9]{6} \\[uid:0,gid:0,pid:100\\] "
#define TOOK " <[0-9]+\\.[0-9]{6}>\n$"

static void
test_lines(void **state)
{
  struct fake_stack *s = fake_stack_new("features/meta", NULL, 1);
  char buf[8192];

  submit_write(s, 0); /* before it is opened */

  struct gi_fop *log = open_log(s, O_RDONLY);

  submit_write(s, 0);
  text_of(read_log(s, log, sizeof(buf)), buf, sizeof(buf));
  assert_like(buf, STAMP "write \\(72340172838076673,5,4096\\): OK \\(5\\)" TOOK);
  submit_write(s, ENOSPC);
  text_of(read_log(s, log, sizeof(buf)), buf, sizeof(buf));
  assert_like(buf, STAMP "write \\(72340172838076673,5,4096\\): ENOSPC" TOOK);
  fake_script(s, 0, GI_FOP_LOOKUP, (struct fake_reply){.ret = -1, .err = ENOENT});
  look(s, &gi_gfid_root, "a\nb");
  text_of(read_log(s, log, sizeof(buf)), buf, sizeof(buf));
  assert_like(buf, STAMP "lookup \\(1,a\\\\012b\\): ENOENT" TOOK);
  fake_stack_free(s);
}

static void
test_virtual_files_are_not_logged(void **state)
{
  struct fake_stack *s = fake_stack_new("features/meta", NULL, 1);
  struct gi_fop *log = open_log(s, O_RDONLY | O_NONBLOCK);

  look(s, &gi_gfid_root, ".meta");
  assert_int_equal(read_log(s, log, 4096)->rsp.err, EAGAIN);
  fake_stack_free(s);
}

static void
test_a_reader_waits(void **state)
{
  struct fake_stack *s = fake_stack_new("features/meta", NULL, 1);
  struct gi_fop *log = open_log(s, O_RDONLY), *first = read_log(s, log, 4096), *second = read_log(s, log, 4096);
  char buf[4096];

  assert_false(first->answered);
  assert_true(gi_list_empty(&s->graph->flight)); /* nothing hangs */
  submit_write(s, 0);
  text_of(first, buf, sizeof(buf));
  assert_false(second->answered);
  gi_fop_cancel(second);
  assert_true(second->answered);
  assert_int_equal(second->rsp.err, EINTR);
  submit_write(s, 0);
  text_of(read_log(s, log, 4096), buf, sizeof(buf));
  fake_stack_free(s);
}

static void
test_waiting_ends_with_the_graph(void **state)
{
  struct fake_stack *s = fake_stack_new("features/meta", NULL, 1);
  struct gi_fop *f = read_log(s, open_log(s, O_RDONLY), 4096);

  assert_false(f->answered);
  gi_graph_deactivate(s->graph);
  assert_true(f->answered);
  assert_int_equal(f->rsp.ret, 0);
  fake_stack_free(s);
}

static void
test_pieces_of_a_line(void **state)
{
  struct fake_stack *s = fake_stack_new("features/meta", NULL, 1);
  struct gi_fop *log = open_log(s, O_RDONLY);
  char buf[4096] = "", *end = buf;

  submit_write(s, 0);
  submit_write(s, 0);
  for (unsigned lines = 0; lines < 2;) {
    text_of(read_log(s, log, 7), end, 8);
    lines += strchr(end, '\n') != NULL;
    end += strlen(end);
  }
  assert_int_equal(end - buf, 2 * (strchr(buf, '\n') + 1 - buf));
  fake_stack_free(s);
}

static void
ignore(struct gi_fop *fop, void *arg)
{
}

/* Without a reader nothing is kept; with a slow one no more than fits. */
static void
test_lost_lines(void **state)
{
  struct fake_stack *s = fake_stack_new("features/meta", NULL, 1);
  struct gi_fop *log = open_log(s, O_RDONLY | O_NONBLOCK), *f;
  char *all = gi_zalloc(4u << 20), *notice;
  size_t len = 0, lines = 0;
  unsigned long lost;

  for (unsigned i = 0; i < 15000; i++) {
    f = fake_fop(s, GI_FOP_STAT);
    gi_loc_set_inode(&f->loc, fake_inode(s, 5));
    gi_fop_submit(f, s->x, ignore, NULL);
    fake_fop_free(f);
    s->nseen = 0;
  }
  while ((f = read_log(s, log, 100000))->rsp.ret > 0)
    len += gi_payload_read(&f->rsp.payload, 0, all + len, (size_t)f->rsp.ret);
  assert_int_equal(f->rsp.err, EAGAIN);
  submit_write(s, 0); /* the next one that has room */
  f = read_log(s, log, 100000);
  len += gi_payload_read(&f->rsp.payload, 0, all + len, (size_t)f->rsp.ret);
  notice = strstr(all, "# ");
  assert_non_null(notice);
  assert_int_equal(sscanf(notice, "# %lu lines are lost\n", &lost), 1);
  for (size_t i = 0; i < len; i++)
    lines += all[i] == '\n';
  assert_int_equal(lines - 1 + lost, 15001);
  gi_free(all);
  fake_stack_free(s);
}

static void
test_too_many_readers(void **state)
{
  struct fake_stack *s = fake_stack_new("features/meta", NULL, 1);

  for (unsigned i = 0; i < 16; i++)
    assert_int_equal(open_log(s, O_RDONLY)->rsp.ret, 0);
  assert_int_equal(open_log(s, O_RDONLY)->rsp.err, EMFILE);
  fake_stack_free(s);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_lines),
      cmocka_unit_test(test_virtual_files_are_not_logged),
      cmocka_unit_test(test_a_reader_waits),
      cmocka_unit_test(test_waiting_ends_with_the_graph),
      cmocka_unit_test(test_pieces_of_a_line),
      cmocka_unit_test(test_lost_lines),
      cmocka_unit_test(test_too_many_readers),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
