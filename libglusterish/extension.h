/* SPDX-License-Identifier: Apache-2.0
 *
 * What our clients and our bricks say to each other beyond the protocol of
 * GlusterFS: words for what a brick can do (capabilities), which it sends in the
 * answer to SETVOLUME, and keys in dictionaries. A peer that does not know a key
 * ignores it; what must not be ignored has a capability, and is only sent to a
 * brick that has it. The table says of each who sends it; doc/protocol-extensions.md
 * is made of it.
 */
#ifndef GI_EXTENSION_H
#define GI_EXTENSION_H

#include <stddef.h>
#include <stdio.h>

/* SETVOLUME */
#define GI_VERSION_KEY "glusterish-version"
#define GI_CAPABILITIES_KEY "glusterish-capabilities"
#define GI_PROMISE_KEY "glusterish-promise"
#define GI_STRICT_KEY "glusterish-strict"
#define GI_ACKNOWLEDGES_KEY "glusterish-acknowledges"
#define GI_CLIENT_KEY_KEY "glusterish-client-key"
#define GI_CLIENT_PROOF_KEY "glusterish-client-proof"
#define GI_CHALLENGE_KEY "glusterish-challenge"

/* capabilities of a brick */
#define GI_PING_CAPABILITY "reactor-ping"
#define GI_LOAD_CAPABILITY "foreground-load"
#define GI_PREAMBLE_CAPABILITY "preamble"
#define GI_REGIONS_CAPABILITY "regions"
#define GI_NEAR_CAPABILITY "near-pieces"
#define GI_GROUPS_CAPABILITY "groups"
#define GI_GIVE_BACK_CAPABILITY "give-back"
#define GI_GIVE_COUNTERS_CAPABILITY "give-counters"
#define GI_TRUNCATE_CAPABILITY "truncate-opened"
#define GI_NOREPLACE_CAPABILITY "noreplace"

/* keys of xdata */
#define GI_LOAD_KEY "glusterish.foreground"
#define GI_PREAMBLE_KEY "glusterish.preamble"
#define GI_REGIONS_KEY "glusterish.regions"
#define GI_NEAR_KEY "glusterish.near"
#define GI_NEAR_PIECES_KEY "glusterish.near.pieces"
#define GI_GROUPS_KEY "glusterish.groups"
#define GI_GIVE_BACK_KEY "glusterish.give-back"
#define GI_EXPECTED_KEY "glusterish.expected-gfid"
#define GI_PARENT_XATTR_KEY "glusterish.parent-xattr"
#define GI_NOREPLACE_KEY "glusterish.noreplace"
#define GI_SAME_FILE_KEY "glusterish.same-file"
#define GI_NAMED_KEY "glusterish.named"
#define GI_CONTENT_KEY "glusterish.content"
#define GI_CONTENT_STAT_KEY "glusterish.content.stat"
#define GI_SYNC_KEY "glusterish.sync"
#define GI_TRUNCATE_KEY "glusterish.truncate"
#define GI_TRUNCATE_FOUND_KEY "glusterish.truncate.found"
#define GI_TWIN_KEY "glusterish.twin"
#define GI_DURABLE_KEY "glusterish.durable"
#define GI_SUM_KEY "glusterish.sum"
#define GI_MOST_KEY "glusterish.most"
#define GI_LOCK_AGAIN_KEY "glusterish.lock-again"
#define GI_LOCK_SPACE_KEY "glusterish.lock-space"
#define GI_MOVED_KEY "glusterish.moved"
#define GI_MOVING_KEY "glusterish.moving"
#define GI_TAKEN_KEY "glusterish.taken"
#define GI_LEFT_KEY "glusterish.left"
#define GI_TRACE_KEY "glusterish.trace"
#define GI_TRACE_STEPS_KEY "glusterish.trace.steps"
#define GI_NAME_KEY "glusterish.name"
#define GI_NAME2_KEY "glusterish.name2"

/* names of virtual attributes */
#define GI_GFID_KEY "glusterish.gfid:"
#define GI_GFID_BEGINNING 18u /* characters behind it */
#define GI_MOUNTS_KEY "glusterish.mounts"
#define GI_OTHER_MOUNTS_KEY "glusterish.mounts.others"
#define GI_UNDER_WAY_KEY "glusterish.under-way"
#define GI_UNDER_WAY_MAX 64u /* operations in one question */

/* the process id of an operation that an internal client sends (wire.md 1.5) */
#define GI_PID_GEOREP (-1)
#define GI_PID_REBALANCE (-3)
#define GI_PID_HEAL (-6)       /* whoever heals */
#define GI_PID_HEAL_TOOL (-7)  /* heal info and the split-brain tools */
#define GI_PID_ADD_BRICK (-12) /* whoever announces a new brick */

struct gi_extension {
  const char *capability; /* NULL: it may be sent to any brick */
  const char *keys[2];
  const char *where; /* it travels */
  const char *sender;
  const char *since; /* version of this project */
  const char *text;  /* one or two sentences */
};

/* Those with a capability first, in the order in which a brick lists them; ends with an empty text. */
extern const struct gi_extension gi_extensions[];

/* All capabilities, separated by blanks. The caller frees it. */
char *gi_extension_capabilities(void);
/* The table as a Markdown document. */
void gi_extension_doc(FILE *out);

#endif
