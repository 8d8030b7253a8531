/* SPDX-License-Identifier: Apache-2.0
 *
 * glusterish-heal: what `glusterish volume heal V info …` and `… split-brain …`
 * run. It becomes a client of the volume without a mount: one graph of all
 * replica sets and nothing above them, operations as pid -7 on a task.
 *
 *   main.c    command line, life of the process
 *   volume.c  what the daemon knows of the volume; the graph
 *   index.c   listing the heal indices of a brick
 *   ask.c     single questions to replica sets and bricks
 *   info.c    info, summary, split-brain, pending
 *   split.c   bigger-file, latest-mtime, source-brick
 *   report.c  the output: text, XML, JSON (cli.md 5.7)
 */
#ifndef HEAL_H
#define HEAL_H

#include "programs/common/request.h"
#include "programs/common/size-text.h"
#include "programs/common/xml.h"
#include "programs/glusterishfs/process.h"

enum heal_command {
  HEAL_INFO,
  HEAL_SUMMARY,
  HEAL_SPLITS,  /* info split-brain */
  HEAL_PENDING, /* is anything pending at all? */
  HEAL_BIGGER_FILE,
  HEAL_LATEST_MTIME,
  HEAL_SOURCE_BRICK,
};

/* ---- report.c ---- */

enum heal_form { HEAL_TEXT, HEAL_XML, HEAL_JSON };

enum heal_state { HEAL_STATE_PENDING, HEAL_STATE_SPLIT, HEAL_STATE_HEALING };

struct heal_counts {
  uint64_t total, pending, split, healing;
};

struct heal_report {
  FILE *out;
  enum heal_form form;
  enum heal_command command;
  struct heal_counts counts; /* of the brick being reported */
  struct cli_xml xml;
  json_t *output, *brick; /* HEAL_JSON; brick: borrowed, being filled */
};

void heal_report_begin(struct heal_report *r);
/* `uuid` of the host; NULL: the brick is not connected. */
void heal_report_brick(struct heal_report *r, const char *name, const char *uuid);
/* `path` NULL: not known. */
void heal_report_entry(struct heal_report *r, const struct gi_gfid *gfid, const char *path, enum heal_state state);
/* err 0; ENOTCONN before anything was listed: the brick is not connected; else why the list is not complete. */
void heal_report_brick_end(struct heal_report *r, int err);
/* How the self-heal daemon is doing: facts as ops/heal.c passes them on; NULL: it does not answer. */
void heal_report_progress(struct heal_report *r, const json_t *facts, bool enabled);
/* A line about one object: it was healed, or could not be. */
void heal_report_line(struct heal_report *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The end: err 0, or an errno and the sentence that says why ("" if the lines did). */
void heal_report_end(struct heal_report *r, int err, const char *text);
/* What came from a disk, fit to be printed: control characters, and if `utf8` whatever is no UTF-8, become \xNN. Caller frees. */
char *heal_printable(const char *text, bool utf8);

/* ---- the program ---- */

struct heal_set;

struct heal_brick {
  char *name; /* HOST:/PATH */
  char *uuid; /* of the host */
  struct heal_set *set;
  struct gi_xlator *client;
};

struct heal_set {
  struct gi_xlator *xlator; /* cluster/replicate */
  bool heard;               /* it told whether it serves */
};

struct heal {
  enum heal_command command;
  const char *volume, *file, *brick; /* of the command line */
  struct cli cli;                    /* towards the daemon */
  struct heal_report report;
  bool enabled; /* the self-heal daemon is */
  struct fs_process *process;
  struct gi_xlator *top;
  unsigned nsets, nbricks;
  struct heal_set *set;
  struct heal_brick *bricks;
  bool running, ended;
  int status; /* exit status */
};

/* volume.c */

/* Asks the daemon. 0, or an errno with the sentence in err. */
int heal_volume_ask(struct heal *h, struct gi_error *err);
/* How the self-heal daemon is doing, for the report. */
void heal_volume_progress(struct heal *h);
/* Leaves the replica sets in the volfile and puts a translator on top that runs the command once they told how they are. */
int heal_volume_adapt(struct fs_process *p, struct gi_volfile *vf, struct gi_error *err);
struct heal_brick *heal_find_brick(struct heal *h, const char *name);
void heal_volume_free(struct heal *h);

/* ask.c: on the task; results 0 or an errno */

struct gi_fop *heal_fop(struct heal *h, enum gi_fop_kind kind, const struct gi_gfid *gfid);
/* GETXATTR; *reply (may be NULL) is the answered fop, to be unreferenced, whatever is returned. */
int heal_getxattr(struct heal *h, struct gi_xlator *at, const struct gi_gfid *gfid, const char *name, struct gi_dict *xdata,
                  struct gi_fop **reply);
/* The path of an object on one brick; NULL if the brick does not know it. Caller frees. */
char *heal_path(struct heal *h, const struct heal_brick *b, const struct gi_gfid *gfid);
bool heal_connected(struct heal *h, const struct heal_brick *b);

/* index.c */

enum heal_index { HEAL_INDEX_PENDING, HEAL_INDEX_DIRTY };

/* Calls fn for every gfid of an index of the brick. 0 or an errno; a brick without that index has an empty one. */
int heal_index_list(struct heal *h, struct heal_brick *b, enum heal_index index,
                    void (*fn)(struct heal *h, struct heal_brick *b, const struct gi_gfid *dir, const struct gi_gfid *gfid,
                               void *arg),
                    void *arg);
/* Removes a name that leads nowhere from the index `dir`. */
void heal_index_drop(struct heal *h, struct heal_brick *b, const struct gi_gfid *dir, const struct gi_gfid *gfid);

/* info.c, split.c: an errno for the exit status; the report has been ended */
int heal_info(struct heal *h);
int heal_pending(struct heal *h);
int heal_split(struct heal *h);

#endif
