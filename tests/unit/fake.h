/* SPDX-License-Identifier: Apache-2.0
 *
 * Fake neighbours for a translator's unit test: a graph of one real translator
 * (loaded from the build tree) over N scripted children of type "test/fake",
 * on a real reactor that is turned by hand.
 *
 *   struct fake_stack *s = fake_stack_new("performance/example", "option cache-size 1MB\n", 1);
 *   struct gi_fop *f = fake_fop(s, GI_FOP_WRITE);           // fill request parts
 *   fake_script(s, 0, GI_FOP_WRITE, (struct fake_reply){ .ret = -1, .err = EIO });  // next WRITE at child 0
 *   fake_submit(s, f);                                       // f->answered after fake_settle
 *   assert_int_equal(f->rsp.err, EIO);
 *
 * An unscripted fop is answered by the child with ret 0 (READ/WRITE: the size asked for), err 0.
 */
#ifndef FAKE_H
#define FAKE_H

#include "libglusterish/graph.h"

/* cmocka.h wants these first. */
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define FAKE_LOG_MAX 4096

struct fake_reply {
  int32_t ret, err;
  bool hold;                                   /* keep the fop until fake_release, or answer it EINTR when it is cancelled */
  bool deferred;                               /* answer at the end of the turn instead of inline */
  void (*fill)(struct gi_fop *fop, void *arg); /* may fill more of fop->rsp; may be NULL */
  void *arg;
};

/* what a child saw */
struct fake_seen {
  unsigned child;
  enum gi_fop_kind kind;
  struct gi_fop *fop; /* valid until it is answered and freed: inspect it in a script's fill, or while held */
  uint64_t offset, size;
  char name[256];
  uint32_t cmd, type, flags;
};

struct fake_stack {
  struct gi_ctx ctx;
  struct gi_graph *graph;
  struct gi_xlator *x;      /* the translator under test */
  struct gi_xlator *parent; /* a "test/top" above it: collects up events */
  unsigned nchildren;
  unsigned nseen;
  struct fake_seen seen[FAKE_LOG_MAX];
  unsigned events[GI_EVENT_MAX]; /* count by enum gi_event that reached the top */
  unsigned below[GI_EVENT_MAX];  /* … a child */
  void *last_event_data;
};

/* `options` are volfile lines "option NAME VALUE\n"…, or NULL. Fails the test if the graph cannot be built; children are
 * reported CHILD_UP. */
struct fake_stack *fake_stack_new(const char *type, const char *options, unsigned nchildren);
/* The file system of the stacks made from now on; such a stack has no worker threads. NULL (the start) = the kernel's. */
extern struct gi_fs *fake_fs;
void fake_stack_free(struct fake_stack *s); /* asserts that no fop, inode reference or fd is left */
/* Only builds; returns NULL and err instead of failing the test. */
struct fake_stack *fake_stack_try(const char *type, const char *options, unsigned nchildren, struct gi_error *err);

/* Gives the translator under test other options and the children child-<set[0]>, child-<set[1]> …, new ones and some of those it
 * has or had; each then has its number in all functions below. Those that come say nothing until fake_event. As
 * gi_graph_reconfigure. */
int fake_stack_children(struct fake_stack *s, const char *options, const unsigned *set, unsigned n, struct gi_error *err);

/* A fop with uid/gid 0 pid 100; not yet submitted. It is freed by fake_stack_free or fake_fop_free. */
struct gi_fop *fake_fop(struct fake_stack *s, enum gi_fop_kind kind);
void fake_fop_free(struct gi_fop *f);
/* Convenience requests on an inode with gfid byte `n` repeated / an fd of it (flags O_RDWR). */
struct gi_inode *fake_inode(struct fake_stack *s, uint8_t n); /* reference kept by the stack */
struct gi_fd *fake_fd(struct fake_stack *s, uint8_t n);       /* reference kept by the stack */

/* Queues one scripted reply for the next fop of `kind` (GI_FOP_MAX = any) at `child`; several queue up in order. */
void fake_script(struct fake_stack *s, unsigned child, enum gi_fop_kind kind, struct fake_reply r);
/* The same reply for every fop of `kind` at `child` until fake_script_clear. */
void fake_script_always(struct fake_stack *s, unsigned child, enum gi_fop_kind kind, struct fake_reply r);
void fake_script_clear(struct fake_stack *s);
void fake_submit(struct fake_stack *s, struct gi_fop *f); /* submits at x and settles */
void fake_submit_at(struct fake_stack *s, struct gi_fop *f, struct gi_xlator *at);
void fake_settle(struct fake_stack *s); /* turns until no worker works and nothing is due; timers are not waited for */
void fake_wait(struct fake_stack *s, uint64_t ns); /* turns for that long */
/* Answers the oldest held fop of `kind` at `child` (GI_FOP_MAX = any); false if none. */
bool fake_release(struct fake_stack *s, unsigned child, enum gi_fop_kind kind, int32_t ret, int32_t err);
unsigned fake_held(struct fake_stack *s, unsigned child);
struct gi_fop *fake_held_fop(struct fake_stack *s, unsigned child,
                             unsigned n); /* the n-th oldest, from 0; NULL: there are less */
void fake_release_fop(struct fake_stack *s, struct gi_fop *fop, int32_t ret, int32_t err); /* one that is held */
/* How many fops of `kind` the child has seen (GI_FOP_MAX = any). */
unsigned fake_count(struct fake_stack *s, unsigned child, enum gi_fop_kind kind);
void fake_forget_seen(struct fake_stack *s);
/* An event from child i. */
void fake_event(struct fake_stack *s, unsigned child, enum gi_event ev, void *data);

/* Runs every kind through the translator, with every errno 1..133 answered by the child, and checks that each fop is answered
 * exactly once and that ret/err arrive unchanged. `skip` is a set of kinds the translator does not pass through. */
void fake_check_transparent(struct fake_stack *s, uint64_t skip);

#endif
