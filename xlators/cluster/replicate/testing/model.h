/* SPDX-License-Identifier: Apache-2.0
 *
 * For the tests of cluster/replicate: a model of a brick that answers the fake
 * children. It knows objects by gfid and names, keeps changelog counters by the
 * rules of xattrop, checks that no lock is given back that was not taken, and
 * writes down what it was asked in a short notation:
 *
 *   L:0       inode lock tried, start 0 (L:m: metadata range, L:10+5: 5 bytes from 10)   W:0 waited for     U:0 unlocked
 *   LH:0      the same in the self-heal domain                  WH:0               UH:0
 *   E:name    entry lock tried (E:* whole directory)            EW:name            EU:name
 *   X:d+1     xattrop: dirty data slot +1; X:1d+1,d-1: child 1's data slot +1 and dirty -1; X:0 nothing but zeros
 *   ( … )     locks and counters that came with the operation that follows; !E:name, !L:0 one that was refused
 *   any other operation by its name: WRITE, MKDIR, …
 */
#ifndef REP_TESTING_MODEL_H
#define REP_TESTING_MODEL_H

#include "tests/unit/fake.h"

#include <errno.h>

#define BRICKS 3
#define BRICK_OBJECTS 32
#define BRICK_NAMES 32

#define BRICK_PAGE 4096u

struct brick_object {
  bool used;
  struct gi_iatt stat;
  uint8_t *data;               /* contents, stat.size bytes; NULL: reads and writes only count */
  uint8_t *there;              /* one per page: not a hole */
  struct gi_dict *xattr;       /* NULL: none */
  int32_t mark[BRICKS + 1][3]; /* the last is dirty */
};

struct brick_name {
  bool used;
  struct gi_gfid parent, gfid;
  char name[64];
};

struct brick {
  unsigned index;
  char log[4096];
  struct brick_object object[BRICK_OBJECTS];
  struct brick_name name[BRICK_NAMES];
  int locks;          /* held now */
  bool lock_owner_ok; /* every unlock came from an owner that held a lock */
  struct gi_owner owner[64];
  int fail_err[GI_FOP_MAX];      /* errno for every operation of that kind; 0 = none */
  int fail_once[GI_FOP_MAX];     /* errno for the next one */
  unsigned fail_nth[GI_FOP_MAX]; /* counts down; the operation that reaches 0 fails with EIO */
  unsigned busy, busy_heal;      /* so many attempts at a lock (of the self-heal) are refused: somebody else holds it */
  void (*hook)(struct brick *b, struct gi_fop *fop, void *arg); /* sees every operation first: a writer between two of a heal */
  void *hook_arg;
  uint8_t raw_mark[20]; /* returned instead of the counter for child 2, if raw_len is not 0 */
  uint32_t raw_len;
  int healer_locks, txn_locks; /* that lookups count in the two domains, and writes in the first; -1: writes do not tell */
  bool append;                 /* writes say that they appended */
  bool syncs;                  /* does the fsync that goes with a write: noted as WRITE+ */
  bool arbiter;                /* stores no data, and insists on being sent none */
  int64_t lock_count;          /* answered as glusterfs.inodelk-count to WRITE and FSYNC */
  bool left_out[BRICKS];       /* children that are not in the set: nobody names their counters */
  char index_names[1024];      /* granular keys seen: "+name" created, "-name" deleted */
};

struct rig {
  struct fake_stack *s;
  struct brick brick[BRICKS];
  struct fake_reply first[BRICKS];
  enum gi_fop_kind first_kind[BRICKS];
  unsigned held_from; /* what fake_stack.seen counted when rig_hold was called */
};

/* For testing/rig.c. */
struct gi_gfid brick_gfid(uint8_t n);
struct brick_object *brick_find_object(struct brick *b, const struct gi_gfid *gfid);
void brick_forget_object(struct brick_object *o);
struct brick_object *brick_make_object(struct brick *b, const struct gi_gfid *gfid, uint32_t mode);
void brick_make_name(struct brick *b, const struct gi_gfid *parent, const char *name, const struct gi_gfid *gfid);
void brick_resize(struct brick_object *o, uint64_t size);
struct gi_dict *brick_xattrs_of(struct brick_object *o);
void brick_serve(struct gi_fop *fop, void *arg);

/* Three bricks under cluster/replicate with the pending names v-client-0…2. `options` as fake_stack_new. */
struct rig *rig_new(const char *options);
struct rig *rig_new_arbiter(const char *options); /* the third is an arbiter */
void rig_free(struct rig *r);
/* Asserts that all locks are given back, then rig_free. */
void rig_free_clean(struct rig *r);
void rig_set(struct rig *r, const char *name, const char *value); /* changes an option of the running translator */
void rig_down(struct rig *r, unsigned child);                     /* everything fails ENOTCONN and CHILD_DOWN comes */
void rig_up(struct rig *r, unsigned child);
void rig_ours(struct rig *r); /* every child takes locks and marks together with operations; objects 1 to 9 are looked up */
/* A rig of which that holds, with file 5. */
struct rig *rig_of_ours(void);
void rig_hold(struct rig *r, unsigned child, enum gi_fop_kind kind); /* keeps the next operation of that kind unanswered */
/* One child, one kind: all are kept; the oldest is looked at (NULL: none) and answered, with an error or as the model does. */
void rig_hold_always(struct rig *r, unsigned child, enum gi_fop_kind kind);
struct gi_fop *rig_held(struct rig *r, unsigned child, enum gi_fop_kind kind);
void rig_answer(struct rig *r, unsigned child, enum gi_fop_kind kind, int err);
/* The next operation of that kind is answered by `fill` instead of the model. */
void rig_first(struct rig *r, unsigned child, enum gi_fop_kind kind, void (*fill)(struct gi_fop *fop, void *arg), void *arg);
void rig_release(struct rig *r, unsigned child, enum gi_fop_kind kind); /* serves and answers it */
/* A regular file (or directory) with gfid byte n on all bricks, named after it in the root. */
void rig_object(struct rig *r, uint8_t n, uint32_t mode);
struct brick_object *brick_object(struct brick *b, uint8_t n);
void rig_forget(struct rig *r);                                /* empties the logs */
void rig_log(struct rig *r, unsigned child, const char *want); /* asserts the log and empties it */
void rig_log_all(struct rig *r, const char *want);
/* The counters of an object: "0d1" style, e.g. "2d1,D:d1" = blames child 2 data 1, dirty data 1; "" = all zero. */
void rig_marks(struct rig *r, unsigned child, uint8_t n, const char *want);

/* Contents of object n at one brick; `data` NULL makes a hole. */
void rig_data(struct rig *r, unsigned child, uint8_t n, const void *data, uint64_t size);
void brick_store(struct brick_object *o, uint64_t offset, const void *data, uint64_t len); /* as a write does */
void rig_xattr(struct rig *r, unsigned child, uint8_t n, const char *name, const char *value);

/* Requests. */
struct gi_fop *rig_write(struct rig *r, struct gi_fd *fd, uint64_t offset, size_t len); /* not submitted */
struct gi_fop *rig_loc(struct rig *r, enum gi_fop_kind kind, uint8_t n);
struct gi_fop *rig_fd(struct rig *r, enum gi_fop_kind kind, struct gi_fd *fd);
struct gi_fop *rig_entry(struct rig *r, enum gi_fop_kind kind, uint8_t parent, const char *name, uint8_t gfid_req);
/* Object n under its name in the root, with its inode; 0: a new name. */
void rig_name(struct rig *r, struct gi_fop *f, struct gi_loc *loc, uint8_t n);
struct gi_fd *rig_open(struct rig *r, uint8_t n);                  /* opened on all children that are up; logs forgotten */
void rig_run(struct rig *r, struct gi_fop *f);                     /* submits and settles */
struct rig *rig_with_file(const char *options, struct gi_fd **fd); /* object 5, opened */
void rig_done(const struct gi_fop *f, int ret, int err);           /* asserts how it was answered */
/* Brick `child` blames brick `blamed` (BRICKS: is dirty) in slot 0 data, 1 metadata, 2 entry of object n. */
void rig_blame(struct rig *r, unsigned child, uint8_t n, unsigned blamed, unsigned slot);

#endif
