/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of features/meta share.
 *
 * A virtual object is three numbers: which row of the table of all files it
 * belongs to, which layer of the graph it is about, and which of several of its
 * kind it is. They are its gfid: nothing is kept per inode, and an object is
 * known again whoever has forgotten it.
 */
#ifndef META_H
#define META_H

#include "libglusterish/graph.h"
#include "libglusterish/log.h"
#include "libglusterish/observe.h"

#define GI_MSG_META 110100 /* base of message ids */

#define MT_MAGIC 0x1d03e7a1u
#define MT_STORE_MAX 4096         /* bytes taken by a file that can be written */
#define MT_NAME (GI_NAME_MAX + 1) /* room for a name */

struct mt;

/* ---- objects ---- */

struct mt_node {
  uint16_t what;  /* row of the table; 0: none */
  uint16_t layer; /* gi_xlator.layer; 0 where it is about no layer */
  uint16_t item;  /* of several with the same row: which */
};

/* Everything with such a gfid is ours. No object of a volume has one: they are random UUIDs, of version 4 and of the usual variant, this is
 * version 8 and of another variant. So the inode numbers, which are the last half, differ as well; and so do the first halves. */
static inline bool
mt_is_ours(const struct gi_gfid *gfid)
{
  static const uint8_t mark[4] = {0x80, 'g', 0x40, 'm'};

  return memcmp(gfid->b + 6, mark, sizeof(mark)) == 0;
}

struct gi_gfid mt_gfid(const struct mt_node *n);

/* ---- the table ---- */

enum mt_what {
  MT_NONE,
  MT_META,
  MT_VERSION,
  MT_CMDLINE,
  MT_FRAMES,
  MT_MALLINFO,
  MT_PROCESS_UUID,
  MT_MEASURE,
  MT_ROOT,
  MT_LOGGING,
  MT_LOGFILE,
  MT_LOGLEVEL,
  MT_GRAPHS,
  MT_ACTIVE,
  MT_GRAPH,
  MT_TOP,
  MT_VOLFILE,
  MT_LAYER,
  MT_LAYER_NAME,
  MT_TYPE,
  MT_OPTIONS,
  MT_OPTION,
  MT_SUBVOLUMES,
  MT_SUBVOLUME,
  MT_PRIVATE,
  MT_HISTORY,
  MT_MEMINFO,
  MT_PROFILE,
  MT_GLUSTERISH,
  MT_ACCESSLOG,
  MT_ALL_OPTIONS,
  MT_ERRORS,
  MT_PAGE_GRAPH,
  MT_PAGE_INFLIGHT,
  MT_PAGE_LAYERS,
  MT_PAGE_METRICS,
  MT_PAGE_PROCESS,
  MT_PAGE_RECORDER,
  MT_PAGE_SLOW,
  MT_PAGE_STATEDUMP,
  MT_WHAT_MAX,
};

struct mt_row {
  const char *name; /* NULL: several, `count` and `name_of` say which */
  enum mt_what in;  /* the directory; MT_NONE: the root of the volume */
  uint32_t mode;    /* as in struct stat */
  bool unlisted;    /* found by name only */
  bool layers;      /* one for each layer of the graph below the mount, or, with a name, for the mount; `item` stays 0 */
  /* Several: those from 0 to count - 1 of which name_of is true; it fills in the name. */
  unsigned (*count)(struct mt *m, const struct mt_node *dir);
  bool (*name_of)(struct mt *m, const struct mt_node *n, char name[MT_NAME]);
  /* What a file says, or where a link leads. */
  void (*show)(struct mt *m, const struct mt_node *n, FILE *out);
  /* Instead of `show`: what a GET of this path of the observation socket brings; without that page there is no such file. */
  const char *page, *accept;
  /* Takes what was written to a file; a positive errno, or 0. */
  int (*store)(struct mt *m, const struct mt_node *n, const char *text);
};

extern const struct mt_row mt_table[MT_WHAT_MAX];

/* ---- the access log: accesslog.c ---- */

struct mt_reader;

struct mt_log {
  struct gi_list readers; /* struct mt_reader */
  unsigned count;
  struct gi_defer wake;
  uint64_t lines, lost; /* lost: once for each reader that had no room */
};

#define MT_READERS 16              /* most at the same time */
#define MT_READER_BYTES (1u << 20) /* of lines that one has not read yet */

void mt_log_init(struct mt *m);
/* A new reader; NULL: there are too many. */
struct mt_reader *mt_log_open(struct mt *m);
void mt_log_close(struct mt *m, struct mt_reader **r); /* nobody waits any more; NULL is fine */
/* One line for an operation that has ended. */
void mt_log_add(struct mt *m, const struct gi_fop *fop);
/* Answers a READ with whole lines if there are some and one fits; without any it is held until there are, or refused if it must not wait. */
enum gi_verdict mt_log_read(struct mt *m, struct mt_reader *r, struct gi_fop *fop);
void mt_log_cancel(struct mt *m, struct gi_fop *fop); /* a READ that is held: EINTR */
void mt_log_end(struct mt *m);                        /* whoever waits has read all */

/* ---- the translator ---- */

struct mt_metrics {
  uint64_t opened, refused, log_lines, log_lost;
};

struct mt {
  uint32_t magic;
  struct gi_xlator *x;
  struct mt_metrics metrics;
  struct gi_time born; /* the times of everything */
  struct mt_log log;
  bool told_hidden; /* that the volume has a file with one of our names */
  bool ended;       /* the graph goes: nobody waits */
};

/* Per open file. */
struct mt_fd {
  char *text; /* owned; what reads return */
  size_t len;
  struct mt_reader *reader;
};

static inline struct mt *
mt_of(const struct gi_xlator *x)
{
  struct mt *m = x->private;

  GI_CHECK(m, MT_MAGIC);
  return m;
}

/* ---- meta-tree.c ---- */

/* The object of a gfid that is ours. False: there is none, or none any more. */
bool mt_node_of(struct mt *m, const struct gi_gfid *gfid, struct mt_node *n);
/* The one with that name in a directory; `dir` NULL: in the root of the volume. */
bool mt_find(struct mt *m, const struct mt_node *dir, const char *name, struct mt_node *n);
/* The directory it is in. False: that is the root of the volume. */
bool mt_parent(struct mt *m, const struct mt_node *n, struct mt_node *dir);
/* The entries of a directory one after the other, from *at = 0 on, which stands for the place behind the entry. False at the end. */
bool mt_next(struct mt *m, const struct mt_node *dir, uint64_t *at, struct mt_node *n, char name[MT_NAME]);
void mt_stat(struct mt *m, const struct mt_node *n, struct gi_iatt *st);
/* The text of a file or a link; the caller frees it. */
char *mt_text(struct mt *m, const struct mt_node *n, size_t *len);
/* The layer it is about, if the graph has it. */
struct gi_xlator *mt_layer(const struct mt *m, const struct mt_node *n);
/* The layer that is the mount has no place among the others. */
bool mt_is_mount(const struct mt *m, const struct gi_xlator *x);

#endif
