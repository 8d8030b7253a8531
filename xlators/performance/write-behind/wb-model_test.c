/* SPDX-License-Identifier: Apache-2.0
 *
 * performance/write-behind against a model: random histories of one application
 * over a brick that works in any order and answers in another. What the
 * application was told must be what it reads, and in the end what the brick has;
 * what overlaps is never under way together; each early answer ends once.
 */
#include "xlators/performance/write-behind/wb-rig.h"

#define MOST 40000u    /* bytes of the file */
#define OUTSTANDING 64 /* operations */

struct asked {
  struct gi_fop *fop;
  uint64_t began; /* of the model's time */
  uint64_t size;  /* of the file then */
  uint8_t snapshot[MOST];
};

struct model {
  struct fake_stack *s;
  struct gi_fd *fd[3]; /* the last appends */
  uint64_t seed, time;
  uint8_t byte[MOST], brick[MOST];
  uint64_t changed[MOST];                 /* time of each byte's last change */
  uint64_t size, brick_size, least, most; /* size: now; of the time since the oldest question */
  struct asked asked[OUTSTANDING];
  unsigned n, early, failing;
  struct {
    struct gi_fop *fop;
    int ret;
  } done[OUTSTANDING * 4]; /* by the brick, not answered */
  unsigned ndone;
};

static uint64_t
chance(struct model *m, uint64_t n)
{
  m->seed ^= m->seed << 13;
  m->seed ^= m->seed >> 7;
  m->seed ^= m->seed << 17;
  return m->seed % n;
}

/* ---- the brick ---- */

static bool
brick_changes(const struct gi_fop *f)
{
  return f->kind == GI_FOP_WRITE || f->kind == GI_FOP_FTRUNCATE;
}

static void
brick_range(const struct gi_fop *f, uint64_t *start, uint64_t *end)
{
  *start = f->args.offset;
  *end = f->kind == GI_FOP_WRITE ? f->args.offset + f->payload.len : UINT64_MAX;
  if (f->kind == GI_FOP_WRITE && f->fd->flags & O_APPEND)
    *start = 0, *end = UINT64_MAX;
}

static void
nothing_overlaps(struct model *m)
{
  struct gi_fop *a, *b;
  uint64_t s[2], e[2];

  for (unsigned i = 0; (a = fake_held_fop(m->s, 0, i)) != NULL; i++)
    for (unsigned k = 0; k < i; k++) {
      b = fake_held_fop(m->s, 0, k);
      if (!brick_changes(a) || !brick_changes(b))
        continue;
      brick_range(a, &s[0], &e[0]);
      brick_range(b, &s[1], &e[1]);
      if (s[0] < e[1] && s[1] < e[0])
        fail_msg("%lu..%lu and %lu..%lu are under way together", s[0], e[0], s[1], e[1]);
    }
}

static void
brick_resize(struct model *m, uint64_t size)
{
  if (size > m->brick_size)
    memset(m->brick + m->brick_size, 0, size - m->brick_size);
  m->brick_size = size;
}

static int
brick_write(struct model *m, struct gi_fop *f)
{
  uint64_t at = f->fd->flags & O_APPEND ? m->brick_size : f->args.offset;
  size_t len = f->payload.len;

  if (m->failing && chance(m, m->failing) == 0)
    return -EIO;
  if (len > 1 && chance(m, 8) == 0)
    len = 1 + chance(m, len - 1); /* a short one */
  assert_true(at + len <= MOST);
  if (at + len > m->brick_size)
    brick_resize(m, at + len);
  gi_payload_read(&f->payload, 0, m->brick + at, len);
  return (int)len;
}

static int
brick_read(struct model *m, struct gi_fop *f)
{
  uint64_t start = f->args.offset < m->brick_size ? f->args.offset : m->brick_size;
  uint64_t len = m->brick_size - start < f->args.size ? m->brick_size - start : f->args.size;

  gi_payload_add_copy(&f->rsp.payload, m->brick + start, len);
  f->rsp.stat = attributes(FILE_A, m->brick_size);
  return (int)len;
}

/* The moment at which it happens. */
static void
brick_does(struct model *m, struct gi_fop *f)
{
  int ret = 0;

  f->rsp.pre = attributes(FILE_A, m->brick_size);
  if (f->kind == GI_FOP_WRITE)
    ret = brick_write(m, f);
  else if (f->kind == GI_FOP_READ)
    ret = brick_read(m, f);
  else if (f->kind == GI_FOP_FTRUNCATE)
    brick_resize(m, f->args.offset);
  else if (f->kind == GI_FOP_FSTAT)
    f->rsp.stat = attributes(FILE_A, m->brick_size);
  f->rsp.post = attributes(FILE_A, m->brick_size);
  assert_true(m->ndone < GI_ARRAY_LEN(m->done));
  m->done[m->ndone].fop = f;
  m->done[m->ndone++].ret = ret;
}

static bool
is_done(const struct model *m, const struct gi_fop *f)
{
  for (unsigned i = 0; i < m->ndone; i++)
    if (m->done[i].fop == f)
      return true;
  return false;
}

/* One step of the brick: it does something, or answers. */
static bool
brick_step(struct model *m)
{
  unsigned held = fake_held(m->s, 0);
  struct gi_fop *f = held ? fake_held_fop(m->s, 0, (unsigned)chance(m, held)) : NULL;

  if (!f)
    return false;
  if (!is_done(m, f)) {
    brick_does(m, f);
    return true;
  }
  for (unsigned i = 0; i < m->ndone; i++)
    if (m->done[i].fop == f) {
      int ret = m->done[i].ret;

      m->done[i] = m->done[--m->ndone];
      fake_release_fop(m->s, f, ret < 0 ? -1 : ret, ret < 0 ? -ret : 0);
      break;
    }
  return true;
}

/* ---- the application ---- */

static void
new_size(struct model *m, uint64_t size)
{
  m->size = size;
  m->least = size < m->least ? size : m->least;
  m->most = size > m->most ? size : m->most;
}

static void
apply(struct model *m, const struct gi_fop *f)
{
  uint64_t start = f->args.offset, end = start + f->payload.len;

  m->time++;
  if (f->kind == GI_FOP_FTRUNCATE) {
    for (uint64_t i = start < m->size ? start : m->size; i < MOST; i++)
      m->byte[i] = 0, m->changed[i] = m->time;
    new_size(m, start);
    return;
  }
  for (uint64_t i = m->size; i < start; i++)
    m->changed[i] = m->time;
  gi_payload_read(&f->payload, 0, m->byte + start, f->payload.len);
  for (uint64_t i = start; i < end; i++)
    m->changed[i] = m->time;
  if (end > m->size)
    new_size(m, end);
}

static void
check_read(struct model *m, const struct asked *a)
{
  const struct gi_fop *f = a->fop;
  uint8_t got[MOST];
  size_t len = gi_payload_read(&f->rsp.payload, 0, got, sizeof(got));

  assert_int_equal(f->rsp.ret, (int)len);
  if (!m->failing && m->time == a->began)
    assert_int_equal(len, a->size <= f->args.offset                 ? 0
                          : a->size - f->args.offset < f->args.size ? a->size - f->args.offset
                                                                    : f->args.size);
  for (uint64_t i = 0; i < len && !m->failing; i++)
    if (m->changed[f->args.offset + i] <= a->began && got[i] != a->snapshot[f->args.offset + i])
      fail_msg("byte %lu is %d, not %d", f->args.offset + i, got[i], a->snapshot[f->args.offset + i]);
}

static void
check_answer(struct model *m, const struct asked *a)
{
  struct gi_fop *f = a->fop;

  if (m->failing && f->rsp.ret < 0)
    return;
  assert_true(f->rsp.ret >= 0);
  if (f->kind == GI_FOP_READ) {
    check_read(m, a);
  } else if (f->kind == GI_FOP_FSTAT && !m->failing) {
    if (f->rsp.stat.size < m->least || f->rsp.stat.size > m->most)
      fail_msg("size %lu, not %lu..%lu", f->rsp.stat.size, m->least, m->most);
  } else if (brick_changes(f)) {
    m->early += f->rsp.early;
    if (f->kind == GI_FOP_WRITE && f->rsp.ret < (int)f->payload.len) /* the brick's word, not early */
      gi_payload_trim(&f->payload, (size_t)f->rsp.ret);
    apply(m, f);
    if (f->rsp.early && !m->failing)
      assert_int_equal(f->rsp.post.size, m->size);
  }
}

static void
collect(struct model *m)
{
  bool any = true;

  nothing_overlaps(m);
  while (any) {
    any = false;
    for (unsigned pass = 0; pass < 2 && !any; pass++) /* changes first: they happened before they were answered */
      for (unsigned i = 0; i < m->n; i++) {
        struct asked a;

        if (!m->asked[i].fop->answered || brick_changes(m->asked[i].fop) == (pass == 1))
          continue;
        a = m->asked[i];
        m->asked[i] = m->asked[--m->n];
        check_answer(m, &a);
        fake_fop_free(a.fop);
        any = true;
        break;
      }
  }
  if (!m->n)
    m->least = m->most = m->size;
  fake_forget_seen(m->s);
}

/* Nobody can say which of two changes under way at once is the later one. */
static bool
a_change_is_out(const struct model *m)
{
  for (unsigned i = 0; i < m->n; i++)
    if (brick_changes(m->asked[i].fop))
      return true;
  return false;
}

/* From now on the brick may do it. */
static void
may_change(struct model *m, const struct gi_fop *f)
{
  uint64_t start = f->args.offset, end = f->kind == GI_FOP_WRITE ? start + f->payload.len : MOST;
  uint64_t size = f->kind == GI_FOP_WRITE && end < m->size ? m->size : f->kind == GI_FOP_WRITE ? end : start;

  m->time++;
  for (uint64_t i = start < m->size ? start : m->size; i < end; i++)
    m->changed[i] = m->time;
  m->least = size < m->least ? size : m->least;
  m->most = size > m->most ? size : m->most;
}

static void
ask(struct model *m, struct gi_fop *f)
{
  struct asked *a = &m->asked[m->n++];

  if (brick_changes(f))
    may_change(m, f);
  a->fop = f;
  a->began = m->time;
  a->size = m->size;
  memcpy(a->snapshot, m->byte, sizeof(a->snapshot));
  fake_submit(m->s, f);
  collect(m);
}

static struct gi_fop *
some_write(struct model *m)
{
  static const size_t lengths[] = {1, 100, 512, 4096};
  struct gi_fd *fd = m->fd[chance(m, 3)];
  size_t len = 1 + chance(m, lengths[chance(m, 4)]);
  uint64_t at = chance(m, 3) == 0 ? chance(m, MOST - len) : m->size;
  struct gi_fop *f;

  if (fd->flags & O_APPEND)
    at = m->size;
  if (at + len > MOST)
    return NULL;
  f = write_fop(m->s, fd, at, len, (char)(1 + chance(m, 200)));
  if (chance(m, 12) == 0)
    f->args.flags = O_DSYNC;
  return f;
}

static void
application_step(struct model *m)
{
  uint64_t what = chance(m, 20);
  struct gi_fop *f = NULL;

  if (m->n >= OUTSTANDING / 2 || a_change_is_out(m))
    return;
  if (what < 12) {
    f = some_write(m);
  } else if (what < 15) {
    f = on_fd(m->s, GI_FOP_READ, m->fd[chance(m, 3)]);
    f->args.offset = chance(m, MOST);
    f->args.size = 1 + chance(m, MOST - f->args.offset);
  } else if (what < 17) {
    f = on_fd(m->s, GI_FOP_FSTAT, m->fd[chance(m, 3)]);
  } else if (what == 17) {
    f = on_fd(m->s, GI_FOP_FSYNC, m->fd[chance(m, 3)]);
  } else if (what == 18) {
    f = on_fd(m->s, GI_FOP_FTRUNCATE, m->fd[chance(m, 2)]);
    f->args.offset = chance(m, 2) ? m->size / 2 : chance(m, MOST);
  } else if (chance(m, 4) == 0) {
    gi_xlator_enable(m->s->x, !m->s->x->enabled || m->s->x->draining);
    fake_settle(m->s);
  }
  if (f)
    ask(m, f);
}

/* ---- histories ---- */

static void
start(struct model *m, const char *options)
{
  static const enum gi_fop_kind kinds[] = {GI_FOP_WRITE, GI_FOP_READ, GI_FOP_FSTAT, GI_FOP_FTRUNCATE, GI_FOP_FSYNC};

  m->s = new_stack(options);
  for (unsigned i = 0; i < 3; i++)
    m->fd[i] = opened(m->s, FILE_A, 0);
  m->fd[2]->flags |= O_APPEND;
  for (unsigned i = 0; i < GI_ARRAY_LEN(kinds); i++)
    hold(m->s, kinds[i]);
}

static void
work_off(struct model *m)
{
  do {
    fake_settle(m->s);
    collect(m);
  } while (brick_step(m));
  assert_int_equal(m->n, 0);
}

static void
quiet(struct model *m)
{
  gi_xlator_enable(m->s->x, false); /* nothing waits for more bytes */
  work_off(m);
  for (unsigned i = 0; i < 3; i++) /* whoever lost something is told, or it stays */
    ask(m, on_fd(m->s, GI_FOP_FSYNC, m->fd[i]));
  work_off(m);
  assert_false(m->s->x->draining);
  assert_int_equal(told.changes, m->early);
  assert_int_equal(metric(m->s, "dirty"), 0);
}

static void
history(const char *options, uint64_t seed, unsigned failing)
{
  struct model *m = gi_new(struct model);

  m->seed = seed * 0x9e3779b97f4a7c15ull + 1;
  m->failing = failing;
  start(m, options);
  for (unsigned step = 0; step < 400; step++) {
    if (chance(m, 100) < 45)
      application_step(m);
    else if (brick_step(m))
      collect(m);
  }
  quiet(m);
  if (!failing) {
    assert_int_equal(m->brick_size, m->size);
    assert_memory_equal(m->brick, m->byte, m->size);
  }
  fake_stack_free(m->s);
  gi_free(m);
}

static void
test_random_histories(void **state)
{
  for (uint64_t seed = 1; seed <= 300; seed++)
    history(NULL, seed, 0);
}

static void
test_random_histories_without_trickling(void **state)
{
  for (uint64_t seed = 1; seed <= 100; seed++)
    history("option trickling-writes off\n", seed, 0);
}

static void
test_random_histories_in_strict_order(void **state)
{
  for (uint64_t seed = 1; seed <= 100; seed++)
    history("option strict-write-ordering on\noption aggregate-size 4KB\n", seed, 0);
}

static void
test_random_histories_with_failures(void **state)
{
  for (uint64_t seed = 1; seed <= 100; seed++)
    history(NULL, seed, 10);
}

static void
test_random_histories_with_failures_and_another_try(void **state)
{
  for (uint64_t seed = 1; seed <= 100; seed++)
    history("option resync-failed-syncs-after-fsync on\n", seed, 10);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random_histories),
      cmocka_unit_test(test_random_histories_without_trickling),
      cmocka_unit_test(test_random_histories_in_strict_order),
      cmocka_unit_test(test_random_histories_with_failures),
      cmocka_unit_test(test_random_histories_with_failures_and_another_try),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
