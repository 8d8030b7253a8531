/* SPDX-License-Identifier: Apache-2.0
 *
 * The middle layer of the daemon: processes. It starts, watches, stops and asks
 * the bricks and self-heal daemons of volumes; why is for the layer above.
 *
 *   spawn.c         starting and watching processes; a simulation has another one
 *   command-line.c  what they are started with
 *   brick-proc.c    brick processes: start, watch, stop, adopt
 *   service.c       a process of a volume that is kept running while it is wanted
 *   shd.c           self-heal daemons, one per volume
 *   mover.c         the processes that move files between sets, one per volume with such a task
 *   adopt.c         what becomes of processes when a volume changes or goes
 *   leave.c         bricks that left their volume
 *   sweep.c         processes that nobody wants any more
 *   brick-ops.c     questions to a running brick or self-heal daemon
 *   announce.c      telling bricks that one of them is new and empty
 */
#ifndef GD_PROC_H
#define GD_PROC_H

#include "programs/glusterishd/model/model.h"

/* ---- command-line.c ---- */

/* Starts it in a session of its own, standard streams on /dev/null. 0 or an errno. */
int gd_spawn(const char *program, const char *const *argv, pid_t *pid);
/* The same of a process that serves or uses a graph of the daemon's (volfile.md 7.1): what all their command lines have, then `more`, which
 * ends with NULL. */
int gd_spawn_graph(const struct gd *gd, const char *server, const char *id, const char *pidfile, const char *sock,
                   const char *log, const char *const *more, pid_t *pid);
/* The unix socket of a service of the volume: short (their paths are limited to 107 bytes) and the same every time. Caller frees. */
char *gd_socket_name(const struct gd_volume *v, const char *what);

/* ---- spawn.c ---- */

/* As gd_spawn in the directory `dir`, what it says goes to the end of the file `log`; either may be NULL. */
int gd_spawn_in(const char *program, const char *const *argv, const char *dir, const char *log, pid_t *pid);
/* The pid in a pid file, if that process has `word` on its command line; else 0. */
pid_t gd_pidfile_running(const char *pidfile, const char *word);
/* Removes it, unless a process holds it: one that an earlier daemon has started, and that is about to be found. */
void gd_pidfile_remove(const char *pidfile);
/* What follows that word on the command line of a process; NULL: nothing. The caller frees it. */
char *gd_process_option(pid_t pid, const char *option);

void gd_pid_signal(pid_t pid, int signo); /* of somebody who was just seen to run */

/* a process whose end is noticed; fd -1: none */
struct gd_watch {
  int fd; /* its pidfd */
  pid_t pid;
  struct gi_io io;
};
bool gd_watch(struct gd_watch *w, struct gi_reactor *r, pid_t pid, void (*fn)(void *arg, unsigned events), void *arg);
void gd_unwatch(struct gd_watch *w);
int gd_watch_signal(const struct gd_watch *w, int signo); /* 0 or an errno */
int gd_watch_reap(
    const struct gd_watch *w); /* of our child, waits for its end: its exit status, or minus the signal that ended it */

/* ---- brick-proc.c ---- */

typedef void gd_proc_fn(struct gd_brick *b, const struct gi_error *err, void *arg); /* err->code 0 = success */

/* Whoever waits for a brick when another one wants it otherwise is told that with ECANCELED.
 * Starts the brick's process unless it runs, one that is leaving or being stopped once that is gone; fn (may be NULL) is called once it
 * serves or failed, never from inside. */
void gd_brick_start(struct gd_brick *b, gd_proc_fn *fn, void *arg);
/* Ends it, one that is being started once it serves; fn is called when the process is gone, never from inside. */
void gd_brick_stop(struct gd_brick *b, gd_proc_fn *fn, void *arg);
/* Takes over a process that outlived an earlier daemon. */
bool gd_brick_adopt(struct gd_brick *b);
void gd_brick_signed_in(struct gd_brick *b, int port); /* it told the port mapper where it listens */
void gd_brick_signed_out(struct gd_brick *b);          /* and that it will do so no longer */
bool gd_brick_online(const struct gd_brick *b);
void gd_brick_end(struct gd_brick *b);                    /* its volume goes: so does its process, and nobody waits for that */
bool gd_brick_ends(const struct gd_brick *b);             /* no process of it runs, or not for long */
int gd_brick_signal(const struct gd_brick *b, int signo); /* 0 or an errno */
void gd_brick_forget(struct gd_brick *b);                 /* stops watching; the process goes on */
/* Another object stands for the brick from now on: its process, if any, is watched for `to`. */
void gd_brick_move(struct gd_brick *to, struct gd_brick *from);
char *gd_brick_pidfile(const struct gd_brick *b);
pid_t gd_brick_running_pid(const struct gd_brick *b); /* in its pid file, if that process is this brick; else 0 */
char *gd_brick_logfile(const struct gd_brick *b);
char *gd_brick_socket(const struct gd_brick *b); /* where it answers brick operations */

/* ---- service.c ---- */

struct gd_service_type {
  const char *what;         /* for people */
  const char *key;          /* of its volfile (KEY/VOLUME) and its socket */
  const char *process_name; /* --process-name */
  const char *more;         /* another argument; NULL: none */
  uint64_t
      pause_max; /* ns: before it is started again; a second at first, twice as long each time that it does not live long */
  bool (*wanted)(const struct gd_volume *v);
  char *(*pidfile)(const struct gd_volume *v); /* these three: caller frees */
  char *(*log)(const struct gd_volume *v);
  char *(*xlator_option)(const struct gd_volume *v);
  void (*tick)(struct gd_volume *v); /* every second while it runs; NULL: nothing */
};
/* Starts or stops it as it is wanted; returns at once. *ref is made when it is wanted for the first time. */
void gd_service_sync(struct gd_service **ref, const struct gd_service_type *type, struct gd_volume *v);
bool gd_service_restart(struct gd_service *s);                /* false: it does not run */
pid_t gd_service_pid(const struct gd_service *s);             /* 0: does not run */
int gd_service_signal(const struct gd_service *s, int signo); /* 0 or an errno */
void gd_service_forget(struct gd_service **ref);              /* stops watching; the process goes on */

/* ---- shd.c ---- */

bool gd_shd_compatible(const struct gd_volume *v); /* a type of volume that heals */
bool gd_shd_enabled(const struct gd_volume *v);    /* and it is not switched off */
bool gd_shd_wanted(const struct gd_volume *v);     /* and started, with bricks here */
/* Starts or stops it as the volume's state and options want it; returns at once. */
void gd_shd_sync(struct gd_volume *v);
void gd_shd_restart(struct gd_volume *v);                /* the volume has other bricks */
pid_t gd_shd_pid(const struct gd_volume *v);             /* 0: does not run */
int gd_shd_signal(const struct gd_volume *v, int signo); /* 0 or an errno */
char *gd_shd_socket(const struct gd_volume *v);          /* where it answers brick operations */

/* ---- mover.c ---- */

/* Starts or ends it as v->rebalance wants it; returns at once. Its progress goes to v->rebalance by itself. */
void gd_mover_sync(struct gd_volume *v);
pid_t gd_mover_pid(const struct gd_volume *v); /* 0: does not run */
void gd_rebalance_end(struct gd_volume *v);    /* of the task, if there is one; the process ends too */
void gd_rebalance_settle(struct gd_volume *v); /* a task of emptying sets is over when none is to be emptied */

/* ---- leave.c ---- */

struct gd_leaving {
  struct gi_list link;      /* gd.leaving */
  struct gd_volume *volume; /* of this brick alone: the one that it left may go before it does */
  struct gi_timer timer;
  bool over;             /* it is gone */
  void (*fn)(void *arg); /* who waits for that; NULL: nobody */
  void *arg;
};
/* Takes over a brick that left its volume, and what it consists of: it is ended when clients have left it. fn (may be NULL) is called when it is
 * gone, never from inside. */
void gd_brick_leave(struct gd_brick *b, void (*fn)(void *arg), void *arg);
void gd_leave_unheard(struct gd *gd, const void *arg); /* who waits with this `arg` does not any more */
void gd_leaving_let_go(struct gd *gd);                 /* stops watching them; they go on */
/* How long bricks go on that have left a volume, in ns: longer while clients may not have come back to this daemon yet, for what it began
 * with they were not told. */
uint64_t gd_leave_grace(const struct gd *gd);

/* ---- sweep.c ---- */

/* At the beginning, when the volumes are known: processes that belong to none of them are ended, bricks as those that leave now. */
void gd_sweep(struct gd *gd);

/* ---- adopt.c ---- */

/* The shape and options of the draft, which is freed, become those of v. Bricks that stay (the same id, host and path) keep their
 * process; those that leave are handed to the caller in *gone, to be stopped, let go and freed. */
void gd_volume_adopt(struct gd_volume *v, struct gd_volume *draft, struct gd_brick **gone, unsigned *ngone);
/* Starts or stops what runs for the volume beside its bricks, as its state wants it; returns at once. */
void gd_volume_sync(struct gd_volume *v);
/* The volume is no more, as another node decided: its files go, its processes end, it is freed. */
void gd_volume_drop(struct gd_volume *v);
/* Stops watching what runs for them, as is due before they are freed; the processes go on. NULL is fine. */
void gd_volume_let_go(struct gd_volume *v);
void gd_bricks_let_go(struct gd_brick *bricks, unsigned n);

/* ---- announce.c ---- */

struct gd_announce;
/* Sets `attribute` (trusted.add-brick, trusted.replace-brick) of the root of every replica set of the volume `v`, which need not be
 * the one in force but lives until this ends, to the id of each of the `n` bricks of the set. `fresh`: their positions, ascending;
 * borrowed. fn is called once, never from inside, and has to cancel it. */
struct gd_announce *gd_announce(const struct gd_volume *v, const char *attribute, const unsigned *fresh, unsigned n,
                                void (*fn)(const struct gi_error *err, void *arg), void *arg);
void gd_announce_cancel(struct gd_announce **a); /* ends the process, if it still runs; NULL is fine */

/* ---- brick-ops.c ---- */

/* what STATUS is asked for (mgmt-protocol.md 5.3) */
enum {
  GD_STATUS_MEM = 0x1,
  GD_STATUS_CLIENTS = 0x2,
  GD_STATUS_INODE = 0x4,
  GD_STATUS_FD = 0x8,
  GD_STATUS_CALLPOOL = 0x10,
  GD_STATUS_CLIENT_LIST = 0x80,
};

/* err: 0, what the process refused it with, or ENOTCONN when it did not answer. dict: what it said, NULL if nothing. */
typedef void gd_answer_fn(int err, const struct gi_dict *dict, void *arg);
/* Asks the process behind a socket for procedure `proc`; consumes `in`. fn is never called from inside. */
void gd_ask(struct gd *gd, const char *sock, uint32_t proc, const char *name, struct gi_dict *in, gd_answer_fn *fn, void *arg);
/* Asks a brick for procedure `proc` of the brick-op program; consumes `in`. */
void gd_brick_ask(const struct gd_brick *b, uint32_t proc, struct gi_dict *in, gd_answer_fn *fn, void *arg);
void gd_brick_ask_status(struct gd_brick *b, unsigned mask, gd_answer_fn *fn, void *arg);
void gd_shd_ask_status(struct gd_volume *v, unsigned mask, gd_answer_fn *fn, void *arg);
/* Asks the process that moves files how far it is. */
void gd_mover_question(struct gd_volume *v, gd_answer_fn *fn, void *arg);
void gd_mover_take(struct gd_volume *v, const struct gi_dict *dict); /* mover.c: what it answered goes to v->rebalance */
void gd_questions_abort(struct gd *gd);                              /* without calling anybody */

#endif
