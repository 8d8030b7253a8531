#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Our client and GlusterFS's write the same files at the same time: the locks make all copies equal and lose nothing.
. "$(dirname "$0")/../functional/lib.sh"
. "$(dirname "$0")/bricks.sh"
require_glusterfs

append() { # append DIR TAG COUNT
  python3 - "$@" <<'P'
import os, sys
d, tag, n = sys.argv[1], sys.argv[2].encode(), int(sys.argv[3])
log = os.open(d + "/log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
blocks = os.open(d + "/blocks", os.O_RDWR | os.O_CREAT, 0o644)
for i in range(n):
    os.write(log, tag * 31 + b"\n")  # 32 bytes: never across a page, which the kernel would split
    os.pwrite(blocks, tag * 8192, i % 32 * 8192)
P
}

# Who writes while a brick is not there leaves marks, which nobody heals here.
has_all() { [ "$(grep -oE 'v-client-[0-9]: connected to' "$WORK/mount-m-$1.log" | sort -u | wc -l)" = 3 ]; }
for kind in real ours; do
  ok "bricks ($kind) start" interop_begin $kind
  ok "we mount them" interop_mount ours "$WORK/m-$kind"
  ok "GlusterFS mounts them" interop_mount real "$WORK/rm-$kind"
  ok "we have all bricks" within 20 has_all $kind
  append "$WORK/m-$kind" a 200 &
  one=$!
  append "$WORK/rm-$kind" b 200 &
  two=$!
  wait $one $two
  no_marks() { [ -z "$(for n in 1 2 3; do marks $n log && marks $n blocks; done)" ]; }
  ok "no mark is left" within 20 no_marks
  note "$(grep -vE 'connected to|quorum is met|mounted on|ready:' "$WORK/mount-m-$kind.log")"
  is "$(grep -c '^a*$' "$WORK/b1/log") $(grep -c '^b*$' "$WORK/b1/log")" "200 200" "no append is lost"
  is "$(md5sum <"$WORK/b2/log")" "$(md5sum <"$WORK/b1/log")" "copies 1 and 2 of the log are equal"
  is "$(md5sum <"$WORK/b3/log")" "$(md5sum <"$WORK/b1/log")" "copies 1 and 3 of the log are equal"
  is "$(cat "$WORK"/b[23]/blocks | md5sum)" "$(cat "$WORK"/b1/blocks "$WORK"/b1/blocks | md5sum)" "copies of overlapping writes are equal"
  for d in "${MOUNTS[@]}"; do unmount "$d"; done
  MOUNTS=()
  for n in 1 2 3; do brick_stop $n; done
  rm -rf "$WORK"/b?
done
done_testing
