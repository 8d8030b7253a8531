/* SPDX-License-Identifier: Apache-2.0
 *
 * why: all that is known of one object of a volume, and who keeps it waiting.
 *
 *   cmd-why.c    the command: which mount, which volume, which bricks
 *   why-copy.c   a copy, as it is on the disk of a brick
 *   splits.c     which of the objects that need healing are in split brain
 *   why.c        the document, from copies and a sight
 *   why-print.c  the document for people
 */
#ifndef WHY_H
#define WHY_H

#include "programs/glusterish/doctor.h"

/* What the directory `brick` has under `path` ("/a/b"). It is read directly: the brick's process may hang.
 * {"there":bool,"error":text|null,"gfid","type","size","mode","uid","gid","links","mtime","ctime",
 *  "pending":{CHILD:[data, metadata, entry]}, "dirty":[likewise]}; only counters that are not zero. */
json_t *why_copy(const char *brick, const char *path);

/* `copies`: [{"brick":"HOST:/PATH", …of why_copy}], in the order of the volume. The document:
 * {"volume","path","gfid","type","copies":[{… "blamed_by":[{"brick","data","metadata","entry"}],"process","answers","up","serves_reads",
 *  "good"}],"heal":{"state":"none"|"needed"|"split-brain","text"},"locks":[{… of /locks, "brick","holder"}],
 *  "users":[{"client","name","address","handles","writing","told_s","bricks"}],"inflight":[operations, each with "process_name" and "waits_for": who, or null],
 *  "errors":[…],"because":[{"text","culprit":{"kind","name","pid"}}]} */
json_t *why_document(const char *volume, const char *path, json_t *copies, const json_t *sight);
/* {"state","text"} of the copies, and puts "good" and "blamed_by" into each. */
json_t *why_heal(json_t *copies, const json_t *sight);
/* The gfid that most copies have, as text; NULL: none has one. */
const char *why_gfid(const json_t *copies);

/* How many of the objects that the bricks' indices name are in split brain, by the copies on this machine; at most `max` of each index
 * are looked at. `volume` is that of a sight. */
long long why_splits(const json_t *volume, const json_t *sight, unsigned max);

void why_print(FILE *out, const json_t *doc);

#endif
