/* SPDX-License-Identifier: Apache-2.0
 *
 * An operation as it is told: what it was, and the tree of its steps. A step is
 * what one translator did for it, or one system call; the steps of operations
 * on its behalf hang below the step that sent them, and those of a brick below
 * the step of the translator that asked it.
 *
 * A tree is made of marks (steps.h), when somebody asks for it or when the
 * operation ends and is to be kept. For that the marks of what it sent must be
 * kept until it ends: that is only done of operations whose tree is collected
 * (gi_fop_collects), a few of many.
 */
#ifndef GI_TREE_H
#define GI_TREE_H

#include "libglusterish/steps.h"

#define GI_TREE_PARTS 64u /* operations on behalf of one that are kept; and as many system calls of each */
#define GI_TREE_STEPS 512u

/* ---- collecting ---- */

struct gi_call {
  const char *name;    /* a literal */
  uint64_t begin, end; /* gi_ticks; end 0: under way */
};

/* System calls of one operation, in order. */
struct gi_calls {
  uint32_t n, missed;
  struct gi_call call[GI_TREE_PARTS];
};

struct gi_told;
struct gi_step;

/* What is kept of an operation whose tree is collected, or of one that works for it. */
struct gi_steps {
  struct gi_calls *calls; /* NULL: none */
  struct gi_step *remote; /* what the brick says it did, or does (then it is open); NULL: nothing */
  /* of the root only */
  struct gi_list parts;    /* struct gi_part: those that are over */
  unsigned nparts, missed; /* kept; not kept */
  bool spread;             /* bricks are asked for their part */
  bool asked;              /* another process collects it: it wants to be told (gi_told_take) */
  uint8_t trace[16];       /* its name, there and here */
  struct gi_told *told;    /* when it is over, if `asked` */
};

/* The tree of the operation that this one works for is collected. */
static inline bool
gi_fop_collects(const struct gi_fop *fop)
{
  return fop->root && fop->root->steps;
}

/* And bricks are to say what they do for it. */
static inline bool
gi_fop_spreads(const struct gi_fop *fop)
{
  return gi_fop_collects(fop) && fop->root->steps->spread;
}

/* From now on; of a root that is under way. */
void gi_fop_collect(struct gi_fop *root, bool spread);
/* Its own, made if there is none yet. It, or what it works for, is collected, or the brick has told what it does. */
struct gi_steps *gi_fop_steps(struct gi_fop *fop);
/* It is over: what its root's tree needs of it is kept. */
void gi_fop_part(struct gi_fop *fop, uint64_t took);
void gi_steps_free(struct gi_steps **steps); /* NULL is fine */

/* ---- telling ---- */

/* The name and type of a layer; shared, as graphs end before what is told of them. */
struct gi_layer_name {
  uint32_t refs;
  const char *type;
  char name[];
};
struct gi_layer_name *gi_layer_name_new(const char *name, size_t len, const char *type, size_t type_len);
struct gi_layer_name *gi_layer_name_ref(struct gi_layer_name *l); /* NULL passes through */
void gi_layer_name_put(struct gi_layer_name **l);                 /* NULL is fine */

struct gi_told_wait {
  enum gi_wait_for why;
  uint64_t since_ns; /* for so long */
  char *what, *who;  /* may be NULL */
};
void gi_told_wait_free(struct gi_told_wait **w); /* NULL is fine */

/* Another process. */
struct gi_place {
  char role[16], brick[256], host[64];
  int32_t pid;
};

struct gi_step {
  struct gi_step *next, *steps; /* the next one below the same step, by start; those below this one */
  struct gi_layer_name *layer;
  enum gi_fop_kind kind;
  uint64_t start_ns, took_ns, own_ns; /* start: from the start of the operation that is told */
  uint64_t wire_ns;                   /* there and back; 0: there was none */
  bool open;                          /* under way: took_ns is until now */
  bool waited_for;                    /* what sent it went on when it was over, or waits for it */
  struct gi_told_wait *waits;
  struct gi_place *place; /* NULL: where the step above is */
};

struct gi_told {
  struct gi_list link;
  uint32_t refs;
  uint8_t id[16];
  enum gi_fop_kind kind;
  struct gi_gfid gfid;
  char *name, *client; /* may be NULL */
  int32_t pid;
  uint32_t uid;
  int64_t start; /* wall clock, ns */
  uint64_t age_ns, took_ns;
  bool over; /* else took_ns means nothing */
  int error;
  uint64_t offset, size;
  struct gi_layer_name *at;   /* NULL: nobody has it */
  struct gi_told_wait *waits; /* what it waits for in the end, as far as the steps below tell */
  struct gi_step *tree;       /* NULL: it came to no layer */
};

/* As it is now, or as it was when it had taken so many ticks and was over. With one reference. */
struct gi_told *gi_told_new(struct gi_fop *fop, uint64_t took, bool over);
struct gi_told *gi_told_ref(struct gi_told *t);
void gi_told_put(struct gi_told **t);            /* NULL is fine */
void gi_step_free(struct gi_step **s);           /* with those below and beside; NULL is fine */
uint64_t gi_step_count(const struct gi_step *s); /* likewise */

/* The name of an operation of this process. */
void gi_fop_id(const struct gi_fop *fop, uint8_t id[16]);

/* ---- on the wire (tree-wire.c): from a brick of ours to a client of ours ---- */

#define GI_TRACE_TEXT 56u /* "00-…-…-01" with its NUL: W3C trace context */

void gi_trace_text(const uint8_t id[16], uint64_t number, char text[GI_TRACE_TEXT]);
/* False: it is no such text, or does not ask for anything. */
bool gi_trace_parse(const void *text, uint32_t len, uint8_t id[16]);

#define GI_STEPS_WIRE_MAX 16384u /* bytes */
#define GI_STEPS_WIRE_DEPTH 64u

/* What it did, for another process; the caller frees it. Steps that do not fit are left out. */
uint8_t *gi_steps_encode(const struct gi_told *t, const struct gi_place *place, uint32_t *len);
/* The same from a socket; NULL: malformed. The caller's; start_ns of the first is 0. */
struct gi_step *gi_steps_decode(const void *data, uint32_t len);

#endif
