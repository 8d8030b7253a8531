/* SPDX-License-Identifier: Apache-2.0
 *
 * The inode and fd tables of a graph.
 *
 * An inode object is the one canonical home for per-inode state of every
 * translator, found by gfid. Anyone who learns a gfid may take the object with
 * gi_inode_get. References keep it; objects nobody references stay on an LRU
 * list and are forgotten beyond its bound, or when the process's budget wants
 * their memory (each translator with inode_bytes gets inode_forget).
 *
 * An fd object is one open file or directory. Its creator (FUSE bridge,
 * protocol/server, a heal) makes it before OPEN/CREATE/OPENDIR is submitted;
 * lower translators keep what they know of it in their fd_bytes. When the last
 * reference goes, translators with fd_release are called top to bottom.
 *
 * Everything here belongs to the reactor; nothing is locked.
 */
#ifndef GI_INODE_H
#define GI_INODE_H

#include "libglusterish/lru.h"
#include "libglusterish/types.h"

struct gi_graph;
struct gi_xlator;
struct gi_inode_table;

#define GI_INODE_LRU 65536 /* default bound of unreferenced inodes */
#define GI_INODE_MAGIC 0x1d0de001u
#define GI_FD_MAGIC 0x1d0fd001u

/* Pieces of an inode or fd that only some need (struct gi_part of graph.h). */
struct gi_pieces {
  uint32_t n, bytes; /* room for so many; taken by them, together */
  void **piece;      /* by number of the part; NULL: nobody has used it */
};

struct gi_inode {
  uint32_t magic;
  uint32_t refs;
  struct gi_graph *graph;
  struct gi_gfid gfid;
  uint32_t mode;          /* S_IFMT bits; 0 while unknown */
  bool hashed;            /* still found by gfid (gi_inode_drop takes it out) */
  uint64_t nlookup;       /* the FUSE bridge's count; it holds one ref while > 0 */
  struct gi_list fds;     /* struct gi_fd.inode_link: open descriptors */
  struct gi_lru_item lru; /* when refs == 0 */
  struct gi_inode *hash_next;
  struct gi_pieces pieces;
  _Alignas(16) unsigned char bytes[]; /* every translator's inode_bytes, zeroed */
};

struct gi_fd {
  uint32_t magic;
  uint32_t refs;
  struct gi_graph *graph;
  struct gi_inode *inode; /* NULL until CREATE learns the gfid (gi_fd_bind) */
  struct gi_list inode_link;
  int32_t flags; /* open(2) flags of the opener */
  int32_t pid;   /* of the opener */
  struct gi_pieces pieces;
  bool directory;
  bool abandoned; /* its client went without closing it, and may come back */
  bool anonymous; /* stands for "open the gfid for this one operation" (wire.md 3.9) */
  bool stream;    /* said by who answers the OPEN: of no known size, read past all caches; a READ may wait */
  _Alignas(16) unsigned char bytes[]; /* every translator's fd_bytes, zeroed */
};

/* The canonical inode of `gfid`, with a reference; made if unknown. gfid must not be none. */
struct gi_inode *gi_inode_get(struct gi_graph *g, const struct gi_gfid *gfid);
/* The same only if it is known; else NULL. */
struct gi_inode *gi_inode_find(struct gi_graph *g, const struct gi_gfid *gfid);
struct gi_inode *gi_inode_ref(struct gi_inode *inode); /* NULL passes through */
void gi_inode_unref(struct gi_inode **inode);          /* clears; NULL is fine */
/* Takes an unreferenced (or soon to be) inode off the table: an object that was deleted. Existing references stay valid. */
void gi_inode_drop(struct gi_inode *inode);
/* This translator's bytes. The class must have inode_bytes > 0. */
void *gi_inode_private(const struct gi_inode *inode, const struct gi_xlator *x);
/* Most unreferenced inodes kept (0 = no limit). Takes effect at once. */
void gi_inode_set_lru_limit(struct gi_graph *g, uint32_t limit);

struct gi_inode_counts {
  uint64_t active;    /* somebody refers to them */
  uint64_t lru;       /* nobody does */
  uint64_t lru_limit; /* 0: none */
};
struct gi_inode_counts gi_inode_count(const struct gi_graph *g);

/* A new fd with one reference. `inode` may be NULL for CREATE. */
struct gi_fd *gi_fd_new(struct gi_graph *g, struct gi_inode *inode, int32_t flags, int32_t pid);
struct gi_fd *gi_fd_anonymous(struct gi_graph *g, struct gi_inode *inode);
struct gi_fd *gi_fd_ref(struct gi_fd *fd);
void gi_fd_unref(struct gi_fd **fd); /* the last one runs every fd_release */
/* Gives a fd made without inode its inode (idempotent; the first to learn the gfid calls it). */
void gi_fd_bind(struct gi_fd *fd, const struct gi_gfid *gfid);
/* The same, but whatever was bound before: the CREATE was made twice, and this is what came of it. */
void gi_fd_rebind(struct gi_fd *fd, const struct gi_gfid *gfid);
void *gi_fd_private(const struct gi_fd *fd, const struct gi_xlator *x);

/* For graph.c: the table's life. Freeing asserts that no inode is referenced and no fd is open. */
struct gi_inode_table *gi_inode_table_new(struct gi_graph *g);
void gi_inode_table_free(struct gi_inode_table **t);

#endif
