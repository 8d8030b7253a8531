/* SPDX-License-Identifier: Apache-2.0
 *
 * The numbers of the management operations about heals (replicate.md 7.9): what
 * the CLI asks the management daemon, that asks self-heal daemons, and tools
 * ask cluster/replicate with lookups.
 */
#ifndef GI_HEAL_OP_H
#define GI_HEAL_OP_H

enum gi_heal_op {
  GI_HEAL_NONE = 0,
  GI_HEAL_INDEX = 1,
  GI_HEAL_FULL = 2,
  GI_HEAL_SPLITS = 6,
  GI_HEAL_STATISTICS = 7,
  GI_HEAL_COUNT = 8,
  GI_HEAL_COUNT_REPLICA = 9,
  GI_HEAL_BIGGER_FILE = 10, /* decisions from outside for a split brain (replicate.md 7.11) */
  GI_HEAL_SOURCE_BRICK = 11,
  GI_HEAL_LATEST_MTIME = 14,
};

#endif
