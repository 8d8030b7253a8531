/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of the simulated disk share.
 *
 * There is one image, the one processes see. What a power loss takes back is
 * kept beside it: an undo record per journalled change, and the old content
 * of every page written since it was last durable.
 */
#ifndef SIM_DISK_PRIVATE_H
#define SIM_DISK_PRIVATE_H

#include "libglusterish/list.h"
#include "libglusterish/mem.h"
#include "tests/simulation/disk/disk.h"

#define SIM_PAGE 4096u
#define SIM_SECTOR 512u
#define SIM_NAME_MAX 255u
#define SIM_LINK_MAX 65000u
#define SIM_FILE_MAX 17592186040320ll /* ext4 with blocks of 4 KiB */

struct sim_inode;

struct sim_page {
  struct gi_list dirty_link; /* in sim_inode.dirty while dirty or doomed */
  uint64_t index;
  uint8_t dirty;  /* a bit per sector that is not durable */
  bool doomed;    /* its write-back failed: what is dirty is lost */
  bool unwritten; /* allocated, but SEEK_HOLE finds a hole */
  bool tail;      /* it made the file grow and is not durable: if it is lost the size is at most `without` */
  uint64_t without;
  uint64_t seq;   /* the youngest record of the journal when it was last written to */
  uint8_t *clean; /* durable content, if any sector is dirty; NULL = zeroes */
  uint8_t data[SIM_PAGE];
};

struct sim_xattr {
  char *name;
  uint8_t *value;
  size_t len;
};

struct sim_dirent {
  uint64_t cookie; /* a hash of the name and the salt: the order of entries, different on each disk */
  char *name;
  struct sim_inode *inode;
};

struct sim_attr {
  mode_t mode;
  uid_t uid;
  gid_t gid;
  struct timespec atime, mtime, ctime;
};

struct sim_inode {
  struct sim_disk *disk;
  struct gi_list link; /* in sim_disk.inodes */
  uint64_t ino;
  uint32_t refs; /* entries, open files, undo records */
  uint32_t nlink;
  struct sim_attr attr;
  dev_t rdev;
  uint64_t size;
  uint64_t seq, size_seq; /* youngest undo records about it, about its size */
  unsigned nxattrs;
  struct sim_xattr *xattr;
  /* directories */
  struct sim_inode *parent; /* NULL: removed */
  unsigned nentries, room;
  struct sim_dirent *entry; /* by cookie */
  /* files */
  unsigned npages, page_room;
  struct sim_page **page; /* by index */
  struct gi_list dirty;
  uint32_t refusals;     /* times the disk refused a write-out … */
  uint32_t refusal_told; /* … and the number of the last one that was reported */
  char *text;            /* symlinks */
};

enum sim_undo_what { UNDO_ADD, UNDO_DEL, UNDO_XATTR, UNDO_ATTR, UNDO_SIZE, UNDO_PAGES };

struct sim_undo {
  struct gi_list link;
  enum sim_undo_what what;
  uint64_t seq, call; /* records of one call go together */
  struct sim_inode *inode, *dir;
  char *name;
  uint8_t *value; /* UNDO_XATTR: NULL = there was none */
  size_t len;
  struct sim_attr attr;
  uint64_t size;
  uint64_t first, last; /* UNDO_PAGES: page indexes that were cut out */
  unsigned npages;
  struct sim_page **page;
};

struct sim_disk {
  struct sim_disk_config cfg;
  uint64_t salt; /* of the cookies */
  uint64_t last_ino, used;
  struct sim_inode *root;
  struct gi_list inodes;  /* struct sim_inode.link: all */
  struct gi_list journal; /* struct sim_undo, oldest first */
  unsigned njournal;
  uint64_t seq, call, committed;
  uint64_t commit_at; /* when the journal, if not empty, commits by itself */
  unsigned views;
  bool read_only, is_stopped;
  uint64_t changes, stop_in;
  void (*on_stop)(void *arg);
  void *on_stop_arg;
  uint32_t rate[SIM_FAULTS];
  uint64_t count[SIM_FAULTS];
  uint64_t lost_calls, lost_pages, torn_pages; /* by power losses */
};

/* ---- disk.c ---- */
struct sim_inode *sim_inode_new(struct sim_disk *d, mode_t mode);
struct sim_inode *sim_inode_ref(struct sim_inode *i);
void sim_inode_unref(struct sim_inode *i);
struct timespec sim_now(struct sim_disk *d);
bool sim_draw(struct sim_disk *d, enum sim_fault fault);
/* The start of a changing call: 0, or the errno it fails with at once. */
int sim_change(struct sim_disk *d);
struct sim_undo *sim_journal(struct sim_inode *i, enum sim_undo_what what);
void sim_journal_attr(struct sim_inode *i); /* before a change of mode, owner or times */
void sim_commit(struct sim_disk *d);

/* ---- directory.c ---- */
struct sim_inode *sim_entry_find(const struct sim_inode *dir, const char *name);
void sim_entry_add(struct sim_inode *dir, const char *name, struct sim_inode *i); /* journalled */
void sim_entry_del(struct sim_inode *dir, const char *name);                      /* journalled */
void sim_entry_raw_add(struct sim_inode *dir, const char *name, struct sim_inode *i);
void sim_entry_raw_del(struct sim_inode *dir, const char *name);
bool sim_is_below(const struct sim_inode *i, const struct sim_inode *dir); /* i is dir or under it */
/* First entry with a cookie above `cookie`; its place, nentries if none. */
unsigned sim_entry_after(const struct sim_inode *dir, uint64_t cookie);
struct sim_xattr *sim_xattr_find(const struct sim_inode *i, const char *name);
void sim_xattr_raw_set(struct sim_inode *i, const char *name, const void *value, size_t len);
void sim_xattr_raw_remove(struct sim_inode *i, const char *name);
void sim_names_free(struct sim_inode *i);
/* Walks `path` from `start` (or the root if absolute). *dir (may be NULL) is the directory of the last component, `last` its name. The
 * result has no reference of its own; NULL with *err. ENOENT with *dir set: only the last component is missing. */
struct sim_inode *sim_walk(struct sim_disk *d, struct sim_inode *start, const char *path, bool follow, struct sim_inode **dir,
                           char last[SIM_NAME_MAX + 1], int *err);

/* ---- content.c ---- */
size_t sim_data_read(const struct sim_inode *i, uint64_t at, void *out, size_t len);
void sim_data_write(struct sim_inode *i, uint64_t at, const void *data, size_t len); /* extends the file */
void sim_data_zero(struct sim_inode *i, uint64_t at, uint64_t len);                  /* within the pages that are there */
void sim_data_truncate(struct sim_inode *i, uint64_t size);
void sim_data_cut(struct sim_inode *i, uint64_t first, uint64_t last);         /* pages first..last become a hole */
void sim_data_allocate(struct sim_inode *i, uint64_t at, uint64_t len);        /* unwritten pages where there are none */
uint64_t sim_data_needs(const struct sim_inode *i, uint64_t at, uint64_t len); /* bytes of pages not there yet */
/* Where data (or a hole) is at or after `at`; size for the hole at the end; -1: none. */
int64_t sim_data_seek(const struct sim_inode *i, uint64_t at, bool hole);
void sim_data_set_size(struct sim_inode *i, uint64_t size);
void sim_data_extend(struct sim_inode *i, uint64_t size); /* on request, not by a write */
void sim_data_flush(struct sim_inode *i);
/* The disk does not take what is dirty of these pages; false: nothing is. */
bool sim_data_doom(struct sim_inode *i, uint64_t first, uint64_t last);
void sim_data_forget(struct sim_inode *i); /* memory forgets what is doomed */
void sim_data_undo(struct sim_inode *i, struct sim_undo *u);
/* After a power loss: what is dirty is kept, lost or torn; lost if it is younger than `seq`, the youngest record that survived. */
void sim_data_settle(struct sim_inode *i, uint64_t seq);
void sim_page_free(struct sim_disk *d, struct sim_page *p);
void sim_data_free(struct sim_inode *i);

#endif
