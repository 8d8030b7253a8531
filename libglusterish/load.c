/* SPDX-License-Identifier: Apache-2.0
 *
 * The meter of foreground load: see load.h.
 */
#include "libglusterish/load.h"

#include <arpa/inet.h>

#define LEARN 16 /* a quiet operation moves the baseline by this fraction */
#define HALF (GI_LOAD_WINDOW_NS / 2)
#define AROUND_US 300 /* what an operation costs besides the brick's share: network, replication, kernel */
#define OPS_MIN 4     /* fewer operations prove nothing */

static unsigned
size_class(enum gi_fop_kind kind, uint64_t bytes)
{
  if (kind != GI_FOP_READ && kind != GI_FOP_WRITE)
    return 0;
  return bytes <= (4u << 10) ? 0 : bytes <= (64u << 10) ? 1 : 2;
}

void
gi_load_background_begin(struct gi_load_meter *m)
{
  m->background++;
}

void
gi_load_background_end(struct gi_load_meter *m, uint64_t now)
{
  GI_ASSERT(m->background > 0);
  m->background--;
  m->background_ended = now;
}

static void
turn_window(struct gi_load_meter *m, uint64_t now)
{
  uint64_t age = now - m->part[0].since;
  GI_ASSERT(now >= m->part[0].since);

  if (age < HALF)
    return;
  m->part[1] = m->part[0];
  if (age >= 2 * HALF)
    memset(&m->part[1], 0, sizeof(m->part[1]));
  memset(&m->part[0], 0, sizeof(m->part[0]));
  m->part[0].since = now;
}

void
gi_load_foreground(struct gi_load_meter *m, enum gi_fop_kind kind, uint64_t bytes, uint64_t began, uint64_t now)
{
  uint64_t took = now > began ? now - began : 0;
  uint64_t *base = &m->baseline[kind][size_class(kind, bytes)];

  GI_ASSERT((unsigned)kind < GI_FOP_MAX);
  if (gi_fop_table[kind].classes & GI_CLASS_MAY_WAIT)
    return;
  if (*base == 0)
    *base = took ? took : 1;
  else if (m->background == 0 && began >= m->background_ended)
    *base = *base - *base / LEARN + took / LEARN;
  turn_window(m, now);
  m->part[0].ops++;
  m->part[0].took += took;
  m->part[0].expected += *base;
  if (took > m->part[0].worst)
    m->part[0].worst = took;
}

static uint32_t
us(uint64_t ns)
{
  uint64_t n = ns / 1000;

  return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

void
gi_load_read(struct gi_load_meter *m, uint64_t now, struct gi_load *load)
{
  uint64_t ops;

  turn_window(m, now);
  ops = m->part[0].ops + m->part[1].ops;
  *load = (struct gi_load){.ops = ops > UINT32_MAX ? UINT32_MAX : (uint32_t)ops};
  if (ops == 0)
    return;
  load->mean_us = us((m->part[0].took + m->part[1].took) / ops);
  load->baseline_us = us((m->part[0].expected + m->part[1].expected) / ops);
  load->worst_us = us(m->part[0].worst > m->part[1].worst ? m->part[0].worst : m->part[1].worst);
}

uint32_t
gi_load_stretch(const struct gi_load *l)
{
  uint64_t s;

  if (l->ops == 0)
    return 0;
  if (l->ops < OPS_MIN || l->baseline_us == 0)
    return 1000;
  s = ((uint64_t)l->mean_us + AROUND_US) * 1000 / ((uint64_t)l->baseline_us + AROUND_US);
  return s > 100000 ? 100000 : s < 1 ? 1 : (uint32_t)s;
}

void
gi_load_put(struct gi_dict *xdata, const struct gi_load *load)
{
  uint32_t be[] = {htonl(load->ops), htonl(load->mean_us), htonl(load->baseline_us), htonl(load->worst_us)};

  gi_dict_set_bin(xdata, GI_LOAD_KEY, be, sizeof(be));
}

bool
gi_load_get(const struct gi_dict *xdata, struct gi_load *load)
{
  const void *data;
  uint32_t len, be[4];

  if (!gi_dict_get_bin(xdata, GI_LOAD_KEY, &data, &len) || len != sizeof(be))
    return false;
  memcpy(be, data, sizeof(be));
  *load = (struct gi_load){ntohl(be[0]), ntohl(be[1]), ntohl(be[2]), ntohl(be[3])};
  return true;
}
