/* SPDX-License-Identifier: Apache-2.0
 *
 * What the live commands look at: one document with all that this node's
 * processes and the daemon tell at one moment. Only sight.c asks anybody;
 * whoever judges or prints takes the document.
 *
 * {"now": seconds since the epoch,
 *  "daemon": bool, it answered
 *  "opVersion": of the pool, "opVersionMax"; 0 if not known
 *  "volumes": [of `volume info`: {"name","statusStr","replicaCount","arbiterCount","bricks":[{"name","isArbiter"}],
 *              "options":[{"name","value"}], and "nodes" of `volume status`: [{"kind","hostname","path","online","pid"}]}],
 *  "processes": [{"role","volume","pid","brick": "HOST:/PATH" as the volume has it, else null,
 *                "about": {} or what it tells of itself,
 *                 "answers": bool, "state": "S" (of /proc), "asked_ms": how long that took,
 *                 "layers","inflight","clients","locks","errors","graph","files","top": its documents, those that were asked for,
 *                 "metrics": its counters, a text; "object": likewise of the object asked for,
 *                 bricks: "disk": {"bytes","free","inodes","inodes_free"}, "heal": {"pending"}}]}
 */
#ifndef SIGHT_H
#define SIGHT_H

#include "programs/common/request.h"

enum {
  SIGHT_LAYERS = 1,
  SIGHT_INFLIGHT = 2,
  SIGHT_CLIENTS = 4,
  SIGHT_LOCKS = 8,
  SIGHT_ERRORS = 16,
  SIGHT_GRAPH = 32,
  SIGHT_DISKS = 64,    /* and heals */
  SIGHT_VOLUMES = 128, /* asks the daemon */
  SIGHT_FILES = 256,
  SIGHT_METRICS = 512,    /* as text */
  SIGHT_TOP = 2048,       /* times with their histograms */
  SIGHT_ALL_LOCKS = 1024, /* with SIGHT_LOCKS: also those of other objects than the one asked for */
};

/* False after telling the user that he may not ask the processes. */
bool sight_allowed(struct cli *c);
/* `volume` NULL: all. `gfid`, as text, NULL: no object; else locks are those of the object, unless all are asked for. The caller owns the document. */
json_t *sight_take(struct cli *c, const char *volume, const char *gfid, unsigned what);
#endif
