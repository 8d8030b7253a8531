/* SPDX-License-Identifier: Apache-2.0
 *
 * The life of a rebalance. It begins when all subvolumes are up, and stays, when
 * it is done, until the management daemon has heard that and ends the process.
 */
#include "xlators/cluster/distribute/rebalance/rebalance.h"

#include "libglusterish/log.h"
#include "libglusterish/manage-op.h"

#include <errno.h>

#define PARALLEL_MAX 64

/* 0: the word says nothing. */
static unsigned
parallel_of(const char *word)
{
  int64_t n = 0;

  if (strcmp(word, "lazy") == 0)
    return 1;
  if (strcmp(word, "normal") == 0)
    return 2;
  if (strcmp(word, "aggressive") == 0)
    return 8;
  return gi_parse_int(word, &n) && n > 0 && n <= PARALLEL_MAX ? (unsigned)n : 0;
}

int
di_throttle_check(const char *text, struct gi_error *err)
{
  if (parallel_of(text))
    return 0;
  return gi_error_set(err, EINVAL, "rebal-throttle %s should be {lazy|normal|aggressive} or a number up to %d", text,
                      PARALLEL_MAX);
}

static unsigned
parallel(const struct di *d)
{
  return parallel_of(di_opts(d)->rebal_throttle);
}

static void
work(void *arg)
{
  struct di_reb *r = arg;
  struct gi_xlator *x = r->d->x;

  GI_ASSERT(r->running && r->base && !r->ended);
  di_reb_await_mounts(r);
  di_reb_walk(r);
  GI_ASSERT(r->files.used == 0);
  r->ended = gi_now(x->reactor);
  if (!r->stopping)
    r->status = r->failures ? DI_REB_FAILED : DI_REB_COMPLETED;
  gi_log(GI_LOG_INFO, x->name, GI_MSG_DISTRIBUTE + 20,
         "rebalance %s: %llu files looked at, %llu moved (%llu bytes), %llu failed, %llu left where they are",
         r->stopping   ? "stopped"
         : r->failures ? "failed"
                       : "completed",
         (unsigned long long)r->scanned, (unsigned long long)r->moved, (unsigned long long)r->bytes,
         (unsigned long long)r->failures, (unsigned long long)r->skipped);
  gi_fop_unref(r->base);
  r->base = NULL;
  r->running = false;
}

void
di_reb_reconfigure(struct di *d)
{
  if (d->reb && d->reb->running)
    gi_window_resize(&d->reb->files, parallel(d));
}

static void
begin(struct di *d)
{
  struct di_reb *r = d->reb;

  GI_ASSERT(r && r->d == d);
  if (r->running || r->stopping || r->ended || d->n < 2 || d->up != di_all(d))
    return;
  r->running = true;
  r->status = DI_REB_RUNS;
  r->began = gi_now(d->x->reactor);
  r->base = gi_fop_new(d->x->graph, GI_FOP_IPC);
  r->base->caller.pid = GI_PID_REBALANCE;
  gi_window_init(&r->files, parallel(d));
  gi_task_start(d->x->reactor, work, r);
}

static void
stop(struct di *d)
{
  GI_ASSERT(d->reb);
  d->reb->stopping = true;
}

static void
hear(struct di *d, const struct gi_fop *reply)
{
  di_reb_hear(&d->reb->pace, reply, gi_now(d->x->reactor));
}

void
di_reb_init(struct di *d)
{
  int64_t command = di_opts(d)->rebalance_cmd;

  if (command != DI_REB_START && command != DI_REB_LAYOUT && command != DI_REB_FORCE)
    return;
  d->reb = gi_new(struct di_reb);
  d->reb->d = d;
  d->reb->command = (enum di_reb_command)command;
  d->reb->status = DI_REB_RUNS;
  d->on_up = begin;
  d->on_leave = stop;
  d->on_reply = hear;
}

void
di_reb_finish(struct di *d)
{
  GI_ASSERT(!d->reb || !d->reb->running);
  gi_free(d->reb);
  d->reb = NULL;
}

/* ---- what it tells ---- */

static void
tell(const struct di_reb *r, struct gi_dict *out)
{
  const char *name = r->d->x->name;
  size_t len = strlen(name);
  GI_CLEANUP_FREE char *volume = gi_strndup(name, len > 4 && strcmp(name + len - 4, "-dht") == 0 ? len - 4 : len);
  uint64_t until = r->ended ? r->ended : gi_now(r->d->x->reactor);
  uint64_t s = r->began ? (until - r->began) / GI_NSEC_PER_SEC : 0;
  uint64_t left = r->objects > r->scanned && !r->ended ? r->objects - r->scanned : 0;

  gi_dict_set_str(out, "volname", volume);
  gi_dict_set_decimal(out, "status", r->status);
  gi_dict_set_decimal(out, "files", r->moved);
  gi_dict_set_decimal(out, "size", r->bytes);
  gi_dict_set_decimal(out, "lookups", r->scanned);
  gi_dict_set_decimal(out, "failures", r->failures);
  gi_dict_set_decimal(out, "skipped", r->skipped);
  gi_dict_set_decimal(out, "run-time", s);
  gi_dict_set_decimal(out, "time-left", r->scanned ? s * left / r->scanned : 0);
  gi_dict_set_decimal(out, "objects-left", left);
  gi_dict_set_decimal(out, "bytes-per-second", s ? r->bytes / s : r->bytes);
}

void
di_manage(struct gi_xlator *x, struct gi_manage *m)
{
  struct di *d = di_of(x);

  if (m->op != GI_MANAGE_REBALANCE || !d->reb) {
    m->done(m, EOPNOTSUPP);
    return;
  }
  tell(d->reb, m->out);
  m->done(m, 0);
}
