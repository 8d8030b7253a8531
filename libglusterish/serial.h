/* SPDX-License-Identifier: Apache-2.0
 *
 * What works on one object works on it one after another, in the order in which
 * it came: a struct gi_serial in the object's memory (the bytes of an inode, as
 * a rule), and in each operation a list link, its turn.
 *
 *   if (!gi_serial_enter(&mine->serial, &fop->link))
 *     return GI_HELD;                       // begin(&fop->link, arg) is called when the turn comes
 *   … work …
 *   gi_serial_leave(&mine->serial, begin, arg);
 *
 * A turn that ends inside `begin` does not make the stack grow: the call of
 * gi_serial_leave that is under way begins the next one. Nobody who comes
 * meanwhile overtakes those who wait. All zero is a valid start. One reactor,
 * no locks.
 */
#ifndef GI_SERIAL_H
#define GI_SERIAL_H

#include "libglusterish/list.h"
#include "libglusterish/reactor.h"

struct gi_serial {
  struct gi_list waiting; /* turns, the next first */
  bool taken;             /* one has begun and not ended */
  bool passing;           /* a gi_serial_leave is under way */
};

/* The turn of whoever owns the link has come: it is taken already. */
typedef void gi_serial_fn(struct gi_list *turn, void *arg);

/* Nobody works and nobody waits. */
bool gi_serial_is_free(const struct gi_serial *s);
/* The caller works from now on; it must be free. */
void gi_serial_take(struct gi_serial *s);
/* If it is not free, `turn` waits (true); else nothing changes, and who then needs more than this moment calls gi_serial_take. */
bool gi_serial_wait(struct gi_serial *s, struct gi_list *turn);
/* Both: true if the caller works now, false if `turn` waits. */
bool gi_serial_enter(struct gi_serial *s, struct gi_list *turn);
/* Whoever works ends; those who wait begin, one after another, as far as each ends at once. The caller keeps *s alive until this
 * returns. */
void gi_serial_leave(struct gi_serial *s, gi_serial_fn *begin, void *arg);
/* A turn that waits gives up (true); false: it does not wait here, it has begun or is about to. */
bool gi_serial_cancel(struct gi_serial *s, struct gi_list *turn);

/* For turns that must not begin from inside somebody's reply: they begin from the reactor. One for all objects of a translator. */
struct gi_serial_later {
  struct gi_reactor *reactor;
  gi_serial_fn *begin;
  void *arg;
  struct gi_list turns; /* those that are about to begin */
  struct gi_defer defer;
};

void gi_serial_later_init(struct gi_serial_later *later, struct gi_reactor *r, gi_serial_fn *begin, void *arg);
void gi_serial_later_finish(struct gi_serial_later *later);
/* As gi_serial_leave; *s may be gone when nobody waits. */
void gi_serial_leave_later(struct gi_serial *s, struct gi_serial_later *later);

#endif
