/* SPDX-License-Identifier: Apache-2.0
 *
 * Members of the store go over to another secret, in whatever order they look:
 * one at a time is started anew, and those that are there are a majority in
 * which each trusts each.
 */
#include "programs/glusterishd/pool/store-trust.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define MOST 5
#define ROUNDS 400

struct member {
  struct gd_trust_view v;
  bool away;
  unsigned starts; /* rounds, until it is there again */
};

struct cluster {
  struct member m[MOST];
  unsigned n;
  unsigned random;
};

static unsigned
next(struct cluster *c, unsigned below)
{
  c->random = c->random * 1103515245 + 12345;
  return (c->random >> 16) % below;
}

static struct cluster
cluster_new(unsigned n, unsigned seed)
{
  struct cluster c = {.n = n, .random = seed};
  for (unsigned i = 0; i < n; i++) {
    c.m[i].v = (struct gd_trust_view){.votes = n > 2 || i == 0};
    c.m[i].v.node.b[0] = (uint8_t)(next(&c, 25) * 10 + i);
  }
  return c;
}

static bool
is_up(const struct member *m)
{
  return !m->away && !m->starts;
}

/* Does it take what the other one shows? */
static bool
takes(const struct member *m, const struct member *other)
{
  return other->v.shows ? m->v.trusts : !m->v.only;
}

static bool
speak(const struct member *a, const struct member *b)
{
  return is_up(a) && is_up(b) && (a == b || (takes(a, b) && takes(b, a)));
}

/* It speaks with a majority of those that vote. */
static bool
is_well(const struct cluster *c, const struct member *m)
{
  unsigned with = 0, voters = 0;
  for (unsigned i = 0; i < c->n; i++) {
    voters += c->m[i].v.votes;
    with += c->m[i].v.votes && speak(m, &c->m[i]);
  }
  return 2 * with > voters;
}

static bool
has_majority(const struct cluster *c)
{
  for (unsigned i = 0; i < c->n; i++)
    if (c->m[i].v.votes && is_well(c, &c->m[i]))
      return true;
  return false;
}

static enum gd_trust_step
look(struct cluster *c, struct member *m, bool patient)
{
  struct gd_trust_view others[MOST];
  unsigned n = 0;
  for (unsigned i = 0; i < c->n; i++) {
    if (&c->m[i] == m)
      continue;
    others[n] = c->m[i].v;
    others[n].answered = !c->m[i].away;
    others[n++].well = is_well(c, &c->m[i]);
  }
  m->v.answered = true;
  return gd_trust_next(&m->v, others, n, patient);
}

static void
take(struct member *m, enum gd_trust_step step)
{
  if (step == GD_TRUST_ADD || step == GD_TRUST_ALONE)
    m->starts = 3;
  m->v.trusts |= step == GD_TRUST_ADD;
  m->v.shows |= step == GD_TRUST_SHOW;
  m->v.only |= step == GD_TRUST_ALONE;
}

static unsigned
starting(const struct cluster *c)
{
  unsigned n = 0;
  for (unsigned i = 0; i < c->n; i++)
    n += c->m[i].starts > 0;
  return n;
}

static bool
is_over(const struct cluster *c)
{
  for (unsigned i = 0; i < c->n; i++)
    if (!c->m[i].away && (!c->m[i].v.only || c->m[i].starts))
      return false;
  return true;
}

/* Until all who are there have gone over. */
static void
go_over(struct cluster *c, bool patient, bool checked)
{
  unsigned rounds = 0;
  for (; !is_over(c) && rounds < ROUNDS; rounds++) {
    for (unsigned i = 0; i < c->n; i++)
      c->m[i].starts -= c->m[i].starts > 0;
    struct member *m = &c->m[next(c, c->n)];
    if (is_up(m))
      take(m, look(c, m, patient));
    if (checked && starting(c) > 1)
      fail_msg("%u of %u are started at a time", starting(c), c->n);
    if (checked && c->n > 2 && !has_majority(c))
      fail_msg("%u members have no majority", c->n);
  }
  if (rounds == ROUNDS)
    fail_msg("%u members do not come to an end", c->n);
}

static void
test_all_go_over_with_a_majority(void **state)
{
  for (unsigned seed = 1; seed < 200; seed++)
    for (unsigned n = 1; n <= MOST; n++) {
      struct cluster c = cluster_new(n, seed);
      go_over(&c, true, true);
      assert_true(has_majority(&c));
    }
}

static void
test_who_is_away_is_waited_for(void **state)
{
  struct cluster c = cluster_new(3, 1);
  c.m[1].away = true;
  for (unsigned i = 0; i < 3; i += 2)
    assert_int_equal(look(&c, &c.m[i], true), GD_TRUST_WAIT);
}

static void
test_who_is_away_for_long_follows_later(void **state)
{
  for (unsigned seed = 1; seed < 200; seed++)
    for (unsigned n = 3; n <= MOST; n++) {
      struct cluster c = cluster_new(n, seed);
      struct member *away = &c.m[next(&c, n)];
      away->away = true;
      go_over(&c, false, false);
      assert_true(has_majority(&c));
      away->away = false;
      go_over(&c, true, true);
      assert_true(is_well(&c, away));
    }
}

/* Without a majority that trusts the new secret nobody gives the old one up. */
static void
test_a_minority_stays(void **state)
{
  struct cluster c = cluster_new(3, 1);
  c.m[1].away = c.m[2].away = true;
  assert_int_equal(look(&c, &c.m[0], false), GD_TRUST_ADD);
  c.m[0].v.trusts = true;
  assert_int_equal(look(&c, &c.m[0], false), GD_TRUST_WAIT);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_all_go_over_with_a_majority),
      cmocka_unit_test(test_who_is_away_is_waited_for),
      cmocka_unit_test(test_who_is_away_for_long_follows_later),
      cmocka_unit_test(test_a_minority_stays),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
