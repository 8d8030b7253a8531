/* SPDX-License-Identifier: Apache-2.0
 *
 * What is seen of operations in a graph whose clock moves only when a layer
 * says so: every nanosecond is found again, in the layer that spent it.
 */
#include "libglusterish/steps-fixture.h"

#include <errno.h>

static const struct gi_layer_kind *
of(const struct gi_xlator *x, enum gi_fop_kind kind)
{
  assert_non_null(x->times);
  assert_non_null(x->times->kind[kind]);
  return x->times->kind[kind];
}

/* ---- times ---- */

static void
every_nanosecond_belongs_to_a_layer(void **state)
{
  struct bed *bed = *state;

  bed_whole(bed, GI_FOP_READ);
  assert_int_equal(of(bed->top, GI_FOP_READ)->own.sum, TOP_DOWN + TOP_UP);
  assert_int_equal(of(bed->middle, GI_FOP_READ)->own.sum, MIDDLE);
  assert_int_equal(of(bed->fan, GI_FOP_READ)->own.sum, FAN_OWN);
  assert_int_equal(of(bed->top, GI_FOP_READ)->all.sum, ALL);
  assert_int_equal(of(bed->fan, GI_FOP_READ)->all.sum, FAN_OWN + BELOW);
  assert_int_equal(of(bed->middle, GI_FOP_READ)->all.count, 0);
  assert_int_equal(of(bed->a, GI_FOP_READ)->own.count, 2);
  assert_int_equal(of(bed->a, GI_FOP_READ)->own.sum, 2 * LEAF);
  assert_int_equal(of(bed->b, GI_FOP_READ)->all.sum, LEAF + 1);
  assert_null(bed->top->times->kind[GI_FOP_WRITE]);
  assert_int_equal(of(bed->top, GI_FOP_READ)->errors, 0);
}

static void
errors_are_counted(void **state)
{
  struct bed *bed = *state;

  bed_errno = EIO;
  bed_whole(bed, GI_FOP_STAT);
  assert_int_equal(of(bed->a, GI_FOP_STAT)->errors, 2);
  assert_int_equal(of(bed->fan, GI_FOP_STAT)->errors, 0);
}

/* Most operations are left out once the kind is known, and those taken apart count for them. */
static void
counts_are_about_right(void **state)
{
  struct bed *bed = *state;

  for (unsigned i = 0; i < 10000; i++)
    bed_whole(bed, GI_FOP_WRITE);
  assert_in_range(of(bed->top, GI_FOP_WRITE)->own.count, 10000 - 2 * GI_TIMES_SHARE, 10000);
  assert_in_range(of(bed->top, GI_FOP_WRITE)->all.sum / of(bed->top, GI_FOP_WRITE)->all.count, ALL, ALL);
}

static void
a_layer_that_is_off_the_path_has_no_time(void **state)
{
  struct bed *bed = *state;

  gi_xlator_enable(bed->middle, false);
  bed_whole(bed, GI_FOP_READ);
  assert_null(bed->middle->times);
  gi_xlator_enable(bed->middle, true);
  bed_whole(bed, GI_FOP_READ);
  assert_int_equal(of(bed->middle, GI_FOP_READ)->own.sum, MIDDLE);
  assert_int_equal(of(bed->top, GI_FOP_READ)->own.count, 2);
  gi_times_reset(bed->graph);
  assert_null(bed->top->times);
}

static void
nothing_is_noted_when_it_is_off(void **state)
{
  struct bed *bed = *state;

  bed->ctx.seen->off = true;
  bed_whole(bed, GI_FOP_READ);
  assert_null(bed->top->times);
  assert_int_equal(bed->ctx.seen->recorder.count, 0);
}

/* ---- in flight ---- */

static unsigned
flying(const struct bed *bed)
{
  unsigned n = 0;

  gi_list_foreach(fop, &bed->graph->flight, struct gi_fop, flight)
    n++;
  return n;
}

static void
what_is_under_way_is_in_the_list(void **state)
{
  struct bed *bed = *state;
  bool answered;
  struct gi_fop *fop = bed_start(bed, GI_FOP_READ, &answered);

  assert_int_equal(flying(bed), 2);
  assert_ptr_equal(gi_list_first(&bed->graph->flight, struct gi_fop, flight), fop);
  assert_ptr_equal(bed_held[0]->root, fop);
  assert_ptr_equal(fop->at, bed->fan);
  bed_answer(0);
  assert_int_equal(flying(bed), 3);
  bed_answer(1);
  bed_answer(2);
  assert_int_equal(flying(bed), 0);
}

static void
a_wait_is_told_until_the_next_border(void **state)
{
  struct bed *bed = *state;
  bool answered;
  struct gi_wait w;
  const char *call = NULL;

  bed_start(bed, GI_FOP_INODELK, &answered);
  assert_false(gi_fop_waiting(bed_held[0], &w));
  gi_fop_waits(bed_held[0], GI_WAIT_WORKER, "its turn", NULL);
  bed_held[0]->wait.now = &call;
  assert_true(gi_fop_waiting(bed_held[0], &w));
  assert_int_equal(w.why, GI_WAIT_WORKER);
  call = "fsync";
  assert_true(gi_fop_waiting(bed_held[0], &w));
  assert_int_equal(w.why, GI_WAIT_DISK);
  assert_string_equal(w.what, "fsync");
  gi_fop_waits(bed_held[0], GI_WAIT_LOCK, "inodelk", "client-7");
  assert_true(gi_fop_waiting(bed_held[0], &w));
  assert_string_equal(w.who, "client-7");
  assert_string_equal(gi_wait_name[w.why], "lock");
  assert_int_equal(w.since, bed_now);

  char *text = NULL;
  size_t len;
  struct gi_dump d = {.out = open_memstream(&text, &len)};

  gi_graph_statedump(bed->graph, &d);
  fclose(d.out);
  assert_non_null(strstr(text, "waits=INODELK of 07070707-0707-0707-0707-070707070707 pid 42 at a for lock inodelk client-7"));
  assert_non_null(strstr(text, "in-flight=2"));
  free(text);

  struct gi_fop *kept = gi_fop_ref(bed_held[0]);

  bed_answer(0);
  assert_false(gi_fop_waiting(kept, &w));
  gi_fop_unref(kept);
  bed_answer(1);
  bed_answer(2);
}

/* ---- the recorder ---- */

static void
the_last_operations_are_recorded(void **state)
{
  struct bed *bed = *state;

  for (unsigned i = 0; i < GI_RECORDS + 10; i++)
    bed_whole(bed, i % 2 ? GI_FOP_READ : GI_FOP_WRITE);

  const struct gi_recorded *r = gi_recorder_get(&bed->ctx.seen->recorder, 0);

  assert_int_equal(r->kind, GI_FOP_READ);
  assert_int_equal(r->took, ALL);
  assert_int_equal(r->start_ns, bed_now - ALL);
  assert_int_equal(r->pid, 42);
  assert_int_equal(r->offset, 4096);
  assert_int_equal(r->size, 512);
  assert_int_equal(r->gfid.b[3], 7);
  assert_ptr_equal(bed->graph->layers[r->at], bed->fan);
  assert_int_equal(gi_recorder_get(&bed->ctx.seen->recorder, 1)->kind, GI_FOP_WRITE);
  assert_non_null(gi_recorder_get(&bed->ctx.seen->recorder, GI_RECORDS - 1));
  assert_null(gi_recorder_get(&bed->ctx.seen->recorder, GI_RECORDS));
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, bed_setup, bed_teardown)

int
main(void)
{
  const struct CMUnitTest tests[] = {
      TEST(every_nanosecond_belongs_to_a_layer),
      TEST(errors_are_counted),
      TEST(counts_are_about_right),
      TEST(a_layer_that_is_off_the_path_has_no_time),
      TEST(nothing_is_noted_when_it_is_off),
      TEST(what_is_under_way_is_in_the_list),
      TEST(a_wait_is_told_until_the_next_border),
      TEST(the_last_operations_are_recorded),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
