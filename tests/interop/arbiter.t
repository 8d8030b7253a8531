#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Arbiter volumes with bricks of either kind, used by our client and GlusterFS's at the same time: both send the arbiter one byte,
# both leave the same marks, and both refuse when only a stale copy is left beside the arbiter.
. "$(dirname "$0")/../functional/lib.sh"
. "$(dirname "$0")/bricks.sh"
require_glusterfs
# shellcheck disable=SC2034
ARBITER=3

sizes() { stat -c %s "$WORK/b1/$1" "$WORK/b2/$1" "$WORK/b3/$1" | xargs; }
sum() { md5sum <"$1"; }
read_sum() { dd if="$1" bs=64K iflag=direct status=none | md5sum; } # past the kernel's pages: another client wrote
write_file() { dd if="$WORK/data" of="$1" bs=64K conv=notrunc status=none; }
blames() { marks "$1" "$2" | grep -Eq "^client-$3=0x[0-9a-f]{7}[1-9][0-9a-f]{16}\$"; }
refused() {
  OUTPUT=$("$@" 2>&1) && return 1
  printf '%s' "$OUTPUT" | grep -q 'not connected'
}
no_marks() { [ -z "$(marks 1 "$1")$(marks 2 "$1")$(marks 3 "$1")" ]; }
probe=0
reaches() { # MOUNT BRICK: what is made through the mount arrives on the brick
  probe=$((probe + 1))
  touch "$1/.probe-$probe" && [ -e "$WORK/b$2/.probe-$probe" ]
}

for kind in real ours; do
  ok "bricks ($kind) start" interop_begin $kind
  head -c 65536 /dev/urandom >"$WORK/data"
  ours=$WORK/m-$kind real=$WORK/rm-$kind
  ok "we mount them" interop_mount ours "$ours"
  ok "GlusterFS mounts them" interop_mount real "$real"
  ok "we write" write_file "$ours/f"
  ok "GlusterFS writes" write_file "$real/g"
  ok "GlusterFS writes over ours" write_file "$real/f"
  ok "we write over theirs" write_file "$ours/g"
  is "$(sizes f), $(sizes g)" "65536 65536 0, 65536 65536 0" "the arbiter has no data"
  is "$(read_sum "$ours/f") $(read_sum "$real/g")" "$(sum "$WORK/data") $(sum "$WORK/data")" "both read what was written"
  ok "nothing is blamed for f" within 5 no_marks f
  ok "nor for g" within 5 no_marks g

  brick_stop 1
  head -c 65536 /dev/urandom >"$WORK/data"
  ok "we write without the first brick" write_file "$ours/f"
  ok "so does GlusterFS" write_file "$real/g"
  for name in f g; do
    ok "the second brick blames the first for $name" within 10 blames 2 $name 0
    ok "and so does the arbiter" within 10 blames 3 $name 0
  done
  is "$(read_sum "$ours/g") $(read_sum "$real/f")" "$(sum "$WORK/data") $(sum "$WORK/data")" "each reads what the other wrote"

  brick_start 1
  ok "the first brick is used by us again" within 20 reaches "$ours" 1
  ok "and by GlusterFS" within 20 reaches "$real" 1
  brick_stop 2
  ok "we do not show the stale copy GlusterFS knows of" within 10 refused cat "$ours/g"
  ok "nor does GlusterFS show that which we know of" within 10 refused cat "$real/f"
  brick_start 2
  ok "the second brick is used by us again" within 20 reaches "$ours" 2
  is "$(read_sum "$ours/f")" "$(sum "$WORK/data")" "and the good copy is read"
  for d in "${MOUNTS[@]}"; do unmount "$d"; done
  MOUNTS=()
  for n in 1 2 3; do brick_stop $n; done
  rm -rf "$WORK"/b?
done
done_testing
