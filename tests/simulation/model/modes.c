/* SPDX-License-Identifier: Apache-2.0
 *
 * See modes.h.
 */
#include "tests/simulation/model/modes.h"

#include <errno.h>

#define COMMIT_NS (6 * SIM_S)  /* a journal has committed what is older (disk/README.md) */
#define LINGER_NS (60 * SIM_S) /* what a dead client has sent has reached all bricks by then, or never will */

/* Some have one of the two bits that mark what a rebalance moves. */
static const uint32_t modes[] = {0644, 0600, 0640, 0660, 0664, 0700, 0755, 01666, 02770};

#define BIT(number) (1u << (number))

struct file {
  struct gi_gfid gfid;
  uint32_t maybe, ever; /* modes, by number */
  unsigned busy;        /* changes under way */
  uint64_t begun;       /* the youngest of them */
  uint64_t changed_ns;  /* when the last one ended */
};

struct sim_moding {
  struct gi_list link;
  unsigned client, number;
  size_t file;
  uint64_t begin;
  uint64_t until_ns; /* of those that linger */
  bool contended;    /* others set the mode at the same time, or a machine lost power */
};

struct sim_modes {
  struct sim_world *w;
  uint64_t moment;
  struct gi_list under_way;
  struct gi_list lingering; /* their clients are gone, and messages about them may still arrive; the oldest first */
  struct file *file;
  size_t count, room;
};

unsigned
sim_modes_count(void)
{
  return GI_ARRAY_LEN(modes);
}

uint32_t
sim_mode(unsigned number)
{
  GI_ASSERT(number < GI_ARRAY_LEN(modes));
  return modes[number];
}

struct sim_modes *
sim_modes_new(struct sim_world *w)
{
  struct sim_modes *m = gi_new(struct sim_modes);
  m->w = w;
  gi_list_init(&m->under_way);
  gi_list_init(&m->lingering);
  return m;
}

static void
drop_all(struct gi_list *ops)
{
  while (!gi_list_empty(ops)) {
    struct sim_moding *op = gi_list_first(ops, struct sim_moding, link);
    gi_list_del(&op->link);
    gi_free(op);
  }
}

void
sim_modes_free(struct sim_modes **mp)
{
  struct sim_modes *m = *mp;
  *mp = NULL;
  if (m == NULL)
    return;
  drop_all(&m->under_way);
  drop_all(&m->lingering);
  gi_free(m->file);
  gi_free(m);
}

/* Its number; `count` if nobody has set its mode. */
static size_t
find(const struct sim_modes *m, const struct gi_gfid *gfid)
{
  size_t i = 0;
  while (i < m->count && !gi_gfid_equal(&m->file[i].gfid, gfid))
    i++;
  return i;
}

static size_t
find_or_add(struct sim_modes *m, const struct gi_gfid *gfid)
{
  size_t i = find(m, gfid);
  if (i < m->count)
    return i;
  if (m->count == m->room) {
    m->room = m->room ? 2 * m->room : 64;
    m->file = gi_realloc(m->file, m->room * sizeof(*m->file));
  }
  m->file[m->count++] = (struct file){.gfid = *gfid, .maybe = BIT(0), .ever = BIT(0)};
  return i;
}

struct sim_moding *
sim_modes_set(struct sim_modes *m, unsigned client, const struct gi_gfid *gfid, unsigned number)
{
  struct sim_moding *op = gi_new(struct sim_moding);
  *op = (struct sim_moding){.client = client, .number = number, .file = find_or_add(m, gfid), .begin = ++m->moment};
  struct file *f = &m->file[op->file];
  GI_ASSERT(number < GI_ARRAY_LEN(modes));
  op->contended = f->busy > 0;
  f->busy++;
  f->begun = op->begin;
  f->maybe |= BIT(number);
  f->ever |= BIT(number);
  gi_list_add_tail(&m->under_way, &op->link);
  return op;
}

/* What dead clients have asked for may be done after everything that was acknowledged since. */
static void
apply_lingering(struct sim_modes *m)
{
  gi_list_foreach_safe(op, &m->lingering, struct sim_moding, link) {
    if (op->until_ns > m->w->now) {
      m->file[op->file].maybe |= BIT(op->number);
      continue;
    }
    gi_list_del(&op->link);
    gi_free(op);
  }
}

static void
ends(struct sim_modes *m, struct sim_moding *op, int err)
{
  struct file *f = &m->file[op->file];
  GI_ASSERT(f->busy > 0);
  op->contended |= f->begun > op->begin;
  if (err == 0 && !op->contended)
    f->maybe = BIT(op->number);
  f->busy--;
  f->changed_ns = m->w->now;
  gi_list_del(&op->link);
}

void
sim_modes_done(struct sim_modes *m, struct sim_moding **opp, int err)
{
  ends(m, *opp, err);
  gi_free(*opp);
  *opp = NULL;
  apply_lingering(m);
}

void
sim_modes_abandon(struct sim_modes *m, unsigned client)
{
  gi_list_foreach_safe(op, &m->under_way, struct sim_moding, link) {
    if (op->client != client)
      continue;
    ends(m, op, ENOTCONN);
    op->until_ns = m->w->now + LINGER_NS;
    gi_list_add_tail(&m->lingering, &op->link);
  }
}

void
sim_modes_power_loss(struct sim_modes *m)
{
  gi_list_foreach(op, &m->under_way, struct sim_moding, link)
    op->contended = true; /* done before that, perhaps, and answered later */
  for (size_t i = 0; i < m->count; i++) {
    struct file *f = &m->file[i];
    if (f->busy || f->changed_ns + COMMIT_NS >= m->w->now)
      f->maybe |= f->ever;
  }
}

void
sim_modes_seen(struct sim_modes *m, const char *who, const char *path, const struct gi_gfid *gfid, uint32_t mode)
{
  size_t i = find(m, gfid);
  uint32_t maybe = i < m->count ? m->file[i].maybe : BIT(0);
  for (unsigned n = 0; n < GI_ARRAY_LEN(modes); n++)
    if (modes[n] == (mode & 07777) && maybe & BIT(n))
      return;
  sim_violation(m->w, "%s: %s has the mode 0%o, which it has not", who, path, mode & 07777);
}
