/* SPDX-License-Identifier: Apache-2.0
 *
 * What the translators of a graph know of their clients, locks and objects
 * (libglusterish/ask.h), as the documents that the observation socket serves.
 */
#ifndef FS_FACTS_H
#define FS_FACTS_H

#include "libglusterish/ask.h"

#include <jansson.h>

#define FS_FACTS_MAX 4096 /* clients, locks or users in one document; "more" says that there are others */

/* {"clients":[{"uid","address","process","version","brick","ours","since","fops":{KIND:n},"bytes_in","bytes_out","inflight",
 * "handles"}],"more":bool}. Times are seconds since the epoch. The caller owns the document, as of the others. */
json_t *fs_facts_clients(const struct gi_graph *g);
/* {"locks":[{"gfid","kind","domain","name","granted","type":"read"|"write","start","len","client","address","pid","owner","since"}],
 * "more"}; gfid NULL: of all objects. */
json_t *fs_facts_locks(const struct gi_graph *g, const struct gi_gfid *gfid);
/* {"gfid","users":[{"client","address","handles","writing","told_s":n|null}],"copies":[{"name","up","known","data","metadata",
 * "chosen"}],"more"}: a brick knows users, a client copies. */
json_t *fs_facts_object(const struct gi_graph *g, const struct gi_gfid *gfid);

#endif
