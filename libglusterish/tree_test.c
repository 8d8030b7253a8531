/* SPDX-License-Identifier: Apache-2.0
 *
 * Trees of operations: their shape, whose time is whose, who waited for whom,
 * what is kept, and what a brick tells of its part on the wire.
 */
#include "libglusterish/steps-fixture.h"
#include "libglusterish/trace.h"

static struct gi_told *kept[8];
static unsigned nkept;

static void
keep(struct gi_trace *t, struct gi_told *told)
{
  assert_true(nkept < GI_ARRAY_LEN(kept));
  kept[nkept++] = gi_told_ref(told);
}

static void
forget(void)
{
  while (nkept > 0)
    gi_told_put(&kept[--nkept]);
}

static const struct gi_step *
below(const struct gi_step *s, unsigned n)
{
  for (s = s->steps; s && n > 0; n--)
    s = s->next;
  assert_non_null(s);
  return s;
}

static void
check_step(const struct gi_step *s, const char *layer, uint64_t start, uint64_t took, uint64_t own)
{
  assert_string_equal(s->layer->name, layer);
  assert_int_equal(s->start_ns, start);
  assert_int_equal(s->took_ns, took);
  assert_int_equal(s->own_ns, own);
}

/* Own times along what was waited for. */
static uint64_t
own_times(const struct gi_step *s)
{
  uint64_t sum = 0;

  for (; s; s = s->next)
    if (s->waited_for)
      sum += s->own_ns + own_times(s->steps);
  return sum;
}

static void
the_tree_of_an_operation(void **state)
{
  struct bed *bed = *state;
  struct gi_trace t = {.has_pid = true, .pid = 42, .got = keep};

  gi_trace_arm(bed->ctx.seen, &t);
  bed_whole(bed, GI_FOP_WRITE);
  assert_int_equal(nkept, 1);

  const struct gi_told *told = kept[0];
  const struct gi_step *top = told->tree, *middle = below(top, 0), *fan = below(middle, 0);

  assert_int_equal(told->took_ns, ALL);
  assert_int_equal(told->start, 1700000000000000000 + (int64_t)bed_now - ALL);
  assert_string_equal(told->at->name, "fan");
  assert_true(told->over && told->error == 0 && told->offset == 4096 && told->size == 512 && told->pid == 42);
  check_step(top, "top", 0, ALL, TOP_DOWN + TOP_UP);
  assert_string_equal(top->layer->type, "test/top");
  check_step(middle, "middle", TOP_DOWN, MIDDLE + FAN_OWN + BELOW, MIDDLE);
  check_step(fan, "fan", TOP_DOWN + MIDDLE, FAN_OWN + BELOW, FAN_OWN);
  check_step(below(fan, 0), "a", 21, LEAF, LEAF);
  check_step(below(fan, 1), "a", 21 + LEAF + FAN_BETWEEN, LEAF, LEAF);
  check_step(below(fan, 2), "b", 21 + LEAF + FAN_BETWEEN, LEAF + 1, LEAF + 1);
  assert_null(below(fan, 2)->next);
  assert_true(below(fan, 0)->waited_for);
  assert_false(below(fan, 1)->waited_for);
  assert_true(below(fan, 2)->waited_for);
  assert_false(top->open);
  assert_int_equal(own_times(top), told->took_ns);
  assert_int_equal(gi_step_count(top), 6);
  gi_trace_disarm(bed->ctx.seen, &t);
  forget();
}

static void
answer_asker(struct gi_fop *fop, void *arg)
{
  *(bool *)arg = true;
  bed_now += 1000; /* whoever asked gets the reply */
}

/* Who makes operations of requests has a step too: what came before the operation and what comes after its answer. */
static void
the_origins_work_is_part_of_it(void **state)
{
  struct bed *bed = *state;
  struct gi_trace t = {.got = keep};
  struct gi_fop *fop = gi_fop_new(bed->graph, GI_FOP_WRITE);
  bool answered = false;

  gi_trace_arm(bed->ctx.seen, &t);
  gi_fop_came(fop, bed->top, bed_now);
  bed_now += 100;
  gi_fop_submit(fop, bed->middle, answer_asker, &answered);
  for (unsigned i = 0; i < 3; i++)
    bed_answer(i);
  assert_true(answered);
  assert_int_equal(nkept, 0);
  gi_fop_over(fop);
  assert_int_equal(nkept, 1);
  check_step(kept[0]->tree, "top", 0, 100 + MIDDLE + FAN_OWN + 1000, 1100);
  check_step(below(kept[0]->tree, 0), "middle", 100, MIDDLE + FAN_OWN, MIDDLE);
  assert_int_equal(own_times(kept[0]->tree), kept[0]->took_ns);
  assert_int_equal(bed->top->times->kind[GI_FOP_WRITE]->all.count, 1);
  gi_fop_unref(fop);
  fop = gi_fop_new(bed->graph, GI_FOP_WRITE); /* one that never goes */
  gi_fop_came(fop, bed->top, bed_now);
  gi_fop_over(fop);
  assert_int_equal(nkept, 1);
  gi_fop_unref(fop);
  gi_trace_disarm(bed->ctx.seen, &t);
  forget();
}

static void
a_tree_is_told_while_the_operation_hangs(void **state)
{
  struct bed *bed = *state;
  bool answered;
  struct gi_fop *fop = bed_start(bed, GI_FOP_READ, &answered);

  gi_fop_collect(fop, true);
  bed_now += LEAF;
  bed_answer(0);
  bed_now += LEAF;
  bed_answer(1);
  gi_fop_waits(bed_held[2], GI_WAIT_BRICK, "b", "disconnected");
  bed_now += 1000;

  struct gi_told *told = gi_told_new(fop, bed_now - fop->start_ticks, false);
  const struct gi_step *fan = below(below(told->tree, 0), 0);

  assert_false(told->over);
  assert_string_equal(told->at->name, "fan");
  assert_int_equal(told->age_ns, 21 + LEAF + FAN_BETWEEN + LEAF + 1000);
  assert_true(told->tree->open && fan->open && below(fan, 2)->open);
  assert_false(below(fan, 0)->open);
  assert_int_equal(below(fan, 2)->took_ns, LEAF + 1000);
  assert_int_equal(fan->own_ns, FAN_DOWN + FAN_BETWEEN);
  assert_int_equal(below(fan, 2)->waits->why, GI_WAIT_BRICK);
  assert_string_equal(below(fan, 2)->waits->who, "disconnected");
  assert_int_equal(below(fan, 2)->waits->since_ns, 1000);
  assert_null(fan->waits);
  assert_true(below(fan, 2)->waited_for && below(fan, 0)->waited_for);
  gi_told_put(&told);
  bed_answer(2);
  assert_true(answered);
}

/* Without a trace: what took long for its kind is kept, with those of its parts that may be to blame. */
static void
the_slow_ones_are_kept(void **state)
{
  struct bed *bed = *state;
  struct gi_seen *seen = bed->ctx.seen;
  bool answered;

  for (unsigned i = 0; i < 10000; i++)
    bed_whole(bed, GI_FOP_WRITE);
  assert_int_equal(seen->nslow, 0);
  bed_nheld = 0;
  bed_start(bed, GI_FOP_WRITE, &answered);
  bed_answer(0);
  bed_answer(1);
  bed_now += GI_NSEC_PER_MSEC;
  bed_answer(2);
  assert_int_equal(seen->nslow, 1);

  const struct gi_told *told = gi_list_first(&seen->slow, struct gi_told, link);
  const struct gi_step *fan = below(below(told->tree, 0), 0);

  assert_true(told->took_ns > GI_NSEC_PER_MSEC);
  assert_string_equal(below(fan, 0)->layer->name, "b");
  assert_true(below(fan, 0)->waited_for && below(fan, 0)->took_ns >= GI_NSEC_PER_MSEC);
  for (unsigned i = 0; i < 2 * GI_SLOW_KEPT; i++) {
    bed_nheld = 0;
    bed_start(bed, GI_FOP_STAT, &answered);
    bed_now += GI_NSEC_PER_SEC;
    for (unsigned n = 0; n < 3; n++)
      bed_answer(n);
  }
  assert_int_equal(seen->nslow, GI_SLOW_KEPT);
}

/* When everything takes long, that is what is usual before long; and not every one of them is made a tree of. */
static void
what_is_slow_follows_what_is_usual(void **state)
{
  struct bed *bed = *state;
  struct gi_seen *seen = bed->ctx.seen;
  const struct gi_told *last;
  unsigned changes = 0;

  for (unsigned i = 0; i < 5000; i++)
    bed_whole(bed, GI_FOP_WRITE);
  assert_true(seen->kind[0][GI_FOP_WRITE].slow < 10 * GI_NSEC_PER_MSEC);
  for (unsigned i = 0; i < 5000; i++) {
    bool answered;

    last = seen->nslow ? GI_CONTAINER(seen->slow.prev, struct gi_told, link) : NULL;
    bed_nheld = 0;
    bed_start(bed, GI_FOP_WRITE, &answered);
    bed_now += GI_NSEC_PER_MSEC;
    for (unsigned n = 0; n < 3; n++)
      bed_answer(n);
    changes += seen->nslow && last != GI_CONTAINER(seen->slow.prev, struct gi_told, link);
  }
  assert_true(seen->kind[0][GI_FOP_WRITE].slow > GI_NSEC_PER_MSEC / 2);
  assert_in_range(changes, 1, 1500);
}

static void
a_trace_gets_what_it_looks_for(void **state)
{
  struct bed *bed = *state;
  struct gi_trace pid = {.has_pid = true, .pid = 7, .got = keep}, slow = {.slower_ns = ALL + 1, .got = keep},
                  object = {.has_gfid = true, .got = keep}, some = {.one_in = 3, .got = keep};

  memset(&object.gfid, 7, sizeof(object.gfid));
  gi_trace_arm(bed->ctx.seen, &pid);
  gi_trace_arm(bed->ctx.seen, &slow);
  bed_whole(bed, GI_FOP_READ);
  assert_int_equal(nkept, 0);
  gi_trace_disarm(bed->ctx.seen, &pid);
  gi_trace_disarm(bed->ctx.seen, &slow);
  gi_trace_arm(bed->ctx.seen, &object);
  bed_whole(bed, GI_FOP_READ);
  assert_int_equal(nkept, 1);
  gi_trace_disarm(bed->ctx.seen, &object);
  forget();
  gi_trace_arm(bed->ctx.seen, &some);
  for (unsigned i = 0; i < 9; i++)
    bed_whole(bed, GI_FOP_READ);
  assert_int_equal(nkept, 3);
  gi_trace_disarm(bed->ctx.seen, &some);
  bed_whole(bed, GI_FOP_READ);
  assert_int_equal(nkept, 3);
  forget();
}

static void
one_in_so_many_is_collected(void **state)
{
  struct bed *bed = *state;
  unsigned collected = 0;

  gi_trace_sample(bed->ctx.seen, 10);
  for (unsigned i = 0; i < 100; i++) {
    bool answered;
    struct gi_fop *fop;

    bed_nheld = 0;
    fop = bed_start(bed, GI_FOP_READ, &answered);
    collected += gi_fop_collects(fop);
    for (unsigned n = 0; n < 3; n++)
      bed_answer(n);
  }
  assert_int_equal(collected, 10);
}

/* ---- the wire ---- */

static const struct gi_place brick = {.role = "brick", .brick = "/bricks/1", .host = "node-1", .pid = 4711};

static struct gi_told *
asked(struct bed *bed)
{
  struct gi_fop *fop = gi_fop_new(bed->graph, GI_FOP_FSYNC);
  uint8_t id[16] = {1, 2, 3};
  struct gi_told *told;
  struct gi_steps *steps;

  gi_trace_asked(fop, id);
  gi_fop_ref(fop);
  bed_nheld = 0;
  bool answered = false;
  bed_submit(bed, fop, &answered);
  steps = gi_fop_steps(bed_held[0]);
  steps->calls = gi_new(struct gi_calls);
  steps->calls->call[steps->calls->n++] = (struct gi_call){"fsync", bed_now + 10, bed_now + 60};
  for (unsigned n = 0; n < 3; n++) {
    bed_now += LEAF;
    bed_answer(n);
  }
  told = gi_trace_told(fop);
  assert_non_null(told);
  assert_memory_equal(told->id, id, 16);
  assert_null(gi_trace_told(fop));
  gi_fop_unref(fop);
  return told;
}

static void
what_a_brick_did_arrives(void **state)
{
  struct bed *bed = *state;
  struct gi_told *told = asked(bed);
  uint32_t len;
  GI_CLEANUP_FREE uint8_t *wire = gi_steps_encode(told, &brick, &len);
  struct gi_step *got = gi_steps_decode(wire, len);
  const struct gi_step *fan, *a;

  assert_non_null(got);
  assert_string_equal(got->place->brick, "/bricks/1");
  assert_int_equal(got->place->pid, 4711);
  assert_int_equal(got->took_ns, told->took_ns);
  assert_int_equal(gi_step_count(got), gi_step_count(told->tree));
  fan = below(below(got, 0), 0);
  a = below(fan, 0);
  assert_string_equal(a->layer->name, "a");
  assert_int_equal(a->own_ns, LEAF - 50);
  assert_string_equal(below(a, 0)->layer->name, "fsync");
  assert_string_equal(below(a, 0)->layer->type, "system-call");
  assert_int_equal(below(a, 0)->took_ns, 50);
  assert_int_equal(own_times(got), told->took_ns);
  gi_step_free(&got);
  gi_told_put(&told);
}

/* Of a round trip that took longer the brick's part lies in the middle. */
static void
the_bricks_part_is_in_the_middle(void **state)
{
  struct bed *bed = *state;
  struct gi_step *remote = gi_new(struct gi_step);
  bool answered;
  struct gi_fop *fop;
  struct gi_told *told;

  remote->layer = gi_layer_name_new("posix", 5, "storage/posix", 13);
  remote->kind = GI_FOP_READ;
  remote->took_ns = remote->own_ns = 40;
  remote->waited_for = true;
  bed_nheld = 0;
  fop = bed_start(bed, GI_FOP_READ, &answered);
  gi_fop_collect(fop, true);
  gi_fop_steps(bed_held[0])->remote = remote;
  bed_now += LEAF;
  bed_answer(0);
  told = gi_told_new(fop, bed_now - fop->start_ticks, false);

  const struct gi_step *a = below(below(below(told->tree, 0), 0), 0);

  check_step(a, "a", 21, LEAF, 60);
  assert_int_equal(a->wire_ns, 60);
  check_step(below(a, 0), "posix", 21 + 30, 40, 40);
  gi_told_put(&told);
  bed_answer(1);
  bed_answer(2);
}

/* A layer that keeps the reply: those below it are done, and what it waits for is what the operation waits for. */
static void
who_holds_a_reply_has_the_operation(void **state)
{
  struct bed *bed = *state;
  bool answered;
  struct gi_fop *fop = bed_start(bed, GI_FOP_SETATTR, &answered);
  struct gi_told *told;

  gi_fop_mark(fop, bed->top, GI_MARK_BACK);
  gi_fop_waits(fop, GI_WAIT_CLIENT, "its word", "client one at b:1");
  bed_now += LEAF;
  told = gi_told_new(fop, bed_now - fop->start_ticks, false);
  assert_true(told->tree->open);
  assert_false(below(told->tree, 0)->open);
  assert_string_equal(told->tree->waits->who, "client one at b:1");
  assert_string_equal(told->waits->who, "client one at b:1");
  gi_told_put(&told);
  for (unsigned n = 0; n < 3; n++)
    bed_answer(n);
}

/* What a brick says of an operation that is under way there: the step that waits, and the client that it waits for. */
static struct gi_told *
hanging(struct bed *bed, bool *answered)
{
  bed_nheld = 0;
  struct gi_fop *fop = bed_start(bed, GI_FOP_SETATTR, answered);

  bed_now += LEAF;
  gi_fop_waits(bed_held[0], GI_WAIT_CLIENT, "its word", "client one at b:1");
  bed_now += LEAF;
  return gi_told_new(fop, bed_now - fop->start_ticks, false);
}

static void
what_a_brick_waits_for_arrives(void **state)
{
  struct bed *bed = *state;
  bool answered[2];
  struct gi_told *told = hanging(bed, &answered[0]);
  struct gi_fop *here;
  uint32_t len;
  GI_CLEANUP_FREE uint8_t *wire = gi_steps_encode(told, &brick, &len);

  gi_told_put(&told);
  for (unsigned n = 0; n < 3; n++)
    bed_answer(n);
  bed_nheld = 0;
  here = bed_start(bed, GI_FOP_SETATTR, &answered[1]);
  bed_now += 2 * LEAF;
  gi_fop_waits(bed_held[0], GI_WAIT_BRICK, "node-1:/bricks/1", NULL);
  gi_fop_steps(bed_held[0])->remote = gi_steps_decode(wire, len);
  bed_now += 10 * LEAF; /* that is how old it is */
  told = gi_told_new(here, bed_now - here->start_ticks, false);

  const struct gi_step *a = below(below(below(told->tree, 0), 0), 0);
  const struct gi_step *far = below(below(below(below(a, 0), 0), 0), 0);

  assert_int_equal(a->waits->why, GI_WAIT_BRICK);
  assert_string_equal(below(a, 0)->place->brick, "/bricks/1");
  assert_string_equal(far->layer->name, "a");
  assert_true(far->open);
  assert_int_equal(far->waits->why, GI_WAIT_CLIENT);
  assert_string_equal(far->waits->who, "client one at b:1");
  assert_string_equal(told->waits->who, "client one at b:1"); /* in the end */
  assert_in_range(told->waits->since_ns, 10 * LEAF, 13 * LEAF);
  gi_told_put(&told);
  for (unsigned n = 0; n < 3; n++)
    bed_answer(n);
}

/* Whatever comes from a socket is taken for a tree as a whole, or not at all. */
static void
nothing_of_it_is_believed(uint8_t *wire, uint32_t len)
{
  for (uint32_t cut = 0; cut < len; cut++) {
    uint8_t *exact = gi_alloc(cut + 1); /* a read beyond the end is seen by ASan */
    struct gi_step *got;

    memcpy(exact, wire, cut);
    got = gi_steps_decode(exact, cut);
    gi_step_free(&got);
    gi_free(exact);
  }
  for (uint32_t at = 0; at < len; at++)
    for (unsigned bit = 0; bit < 8; bit++) {
      struct gi_step *got;

      wire[at] ^= (uint8_t)(1u << bit);
      got = gi_steps_decode(wire, len);
      gi_step_free(&got);
      wire[at] ^= (uint8_t)(1u << bit);
    }
  assert_null(gi_steps_decode(wire, 0));
}

static void
nothing_malformed_is_taken(void **state)
{
  struct bed *bed = *state;
  struct gi_told *told = asked(bed);
  uint32_t len;
  bool answered;
  GI_CLEANUP_FREE uint8_t *wire = gi_steps_encode(told, &brick, &len);

  nothing_of_it_is_believed(wire, len);
  gi_told_put(&told);
  told = hanging(bed, &answered);
  GI_CLEANUP_FREE uint8_t *open = gi_steps_encode(told, &brick, &len);
  nothing_of_it_is_believed(open, len);
  gi_told_put(&told);
  for (unsigned n = 0; n < 3; n++)
    bed_answer(n);
}

static void
the_trace_context(void **state)
{
  uint8_t id[16] = {0xab, 1, [15] = 9}, got[16];
  char text[GI_TRACE_TEXT];

  gi_trace_text(id, 77, text);
  assert_string_equal(text, "00-ab010000000000000000000000000009-000000000000004d-01");
  assert_true(gi_trace_parse(text, sizeof(text), got) && gi_trace_parse(text, sizeof(text) - 1, got));
  assert_memory_equal(id, got, 16);
  assert_false(gi_trace_parse(text, sizeof(text) - 2, got));
  assert_false(gi_trace_parse("00-00000000000000000000000000000000-000000000000004d-01", 55, got));
  assert_false(gi_trace_parse("00-ab010000000000000000000000000009-000000000000004d-00", 55, got));
  assert_false(gi_trace_parse("00-ab01000000000000000000000000000g-000000000000004d-01", 55, got));
  assert_false(gi_trace_parse("", 0, got));
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, bed_setup, bed_teardown)

int
main(void)
{
  const struct CMUnitTest tests[] = {
      TEST(the_tree_of_an_operation),           TEST(a_tree_is_told_while_the_operation_hangs),
      TEST(the_origins_work_is_part_of_it),     TEST(the_slow_ones_are_kept),
      TEST(what_is_slow_follows_what_is_usual), TEST(a_trace_gets_what_it_looks_for),
      TEST(one_in_so_many_is_collected),        TEST(what_a_brick_did_arrives),
      TEST(what_a_brick_waits_for_arrives),     TEST(who_holds_a_reply_has_the_operation),
      TEST(the_bricks_part_is_in_the_middle),   TEST(nothing_malformed_is_taken),
      cmocka_unit_test(the_trace_context),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
