#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Random operations on a mount against a model in memory, in both profiles. GLUSTERISH_FSX_SEEDS and GLUSTERISH_FSX_OPERATIONS make it
# longer (20 and 2000 for a long run); with GLUSTERISH_FSX_KILL set, one brick after the other is killed and started again meanwhile.
# GLUSTERISH_FSX_OPTIONS are set on the volume first: "performance.write-behind on performance.aggregate-size 64KB".
. "$(dirname "$0")/lib.sh"
require_root
require_fuse
seeds=${GLUSTERISH_FSX_SEEDS:-2} operations=${GLUSTERISH_FSX_OPERATIONS:-300}
fsx=$GLUSTERISH_BUILDDIR/tests/functional/fsx

start_glusterishd >/dev/null
must "a volume is there" start_volume fsx 3
# shellcheck disable=SC2086
if [ -n "${GLUSTERISH_FSX_OPTIONS:-}" ]; then must "its options are set" gi volume set fsx $GLUSTERISH_FSX_OPTIONS; fi
must "it is mounted" mount_volume fsx "$WORK/default"
must "it is mounted with the write-back of the kernel" mount_volume fsx "$WORK/writeback" --kernel-writeback-cache=yes
mkdir "$WORK/local"

# Nothing is wrong with the model: a local directory agrees.
ok "a local directory does as the model says" "$fsx" "$WORK/local" 1 "$operations"

healed() { ! gi volume heal fsx info | grep -q "^Number of entries: [1-9-]"; }

# Each brick in turn, when what it missed is healed.
kill_bricks() {
  local i=0 pid
  while sleep 1; do
    i=$((i % 3 + 1))
    within 60 healed || continue
    pid=$(brick_pid fsx "$WORK/bricks/fsx-$i")
    kill "-$((i % 2 ? 9 : 15))" "$pid"
    within 10 not_running "$pid"
    sleep 1
    gi volume start fsx force
  done >/dev/null 2>&1
}

if [ -n "${GLUSTERISH_FSX_KILL:-}" ]; then
  kill_bricks &
  killer=$!
fi
for dir in default writeback; do
  for seed in $(seq "$seeds"); do
    ok "$dir, seed $seed, $operations operations" "$fsx" "$WORK/$dir" "$seed" "$operations"
  done
done
if [ -n "${killer:-}" ]; then kill "$killer" 2>/dev/null; wait "$killer" 2>/dev/null; fi
done_testing
