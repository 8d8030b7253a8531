#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A heal that one healer began, ours or GlusterFS's, and was killed in is finished by the other; and both heal at the same time
# while clients of both kinds write.
. "$(dirname "$0")/../functional/lib.sh"
. "$(dirname "$0")/../functional/bricks.sh"
. "$(dirname "$0")/bricks.sh"
require_glusterfs
export ANY_TIME=1 # without features/utime every brick has its own times
command -v setfacl >/dev/null || skip_all "needs setfacl"

sparse_end=$((128 << 20)) # GlusterFS' daemon takes 10 ms for each MiB of a hole, more on a busy machine

before() (
  cd "$1" || exit 1
  mkdir old gone modes links replaced swap new && mkdir old/d{0..4} && mkdir swap/dir || exit 1
  for f in old/d{0..4}/f{0..4} gone/f{0..29} modes/f{0..29} links/f{0..9} replaced/f{0..9} swap/file; do echo "$f" >"$f"; done
  dd if=/dev/urandom of=large bs=1M count=16 2>/dev/null
  truncate -s 16M sparse
)

while_one_is_down() (
  cd "$1" || exit 1
  mkdir new/d{0..9} || exit 1
  for f in new/d{0..9}/f{0..14}; do echo "$f" >"$f"; done
  for d in 0 1 2; do mv "old/d$d" "new/d$d/moved" && echo more >>"new/d$d/moved/f0"; done
  mv old/d3 old/d3x && mv old/d4/f0 old/d3x/f0 # over a file
  rm -r gone
  for f in modes/f{0..9}; do chmod 640 "$f"; done
  for f in modes/f{10..19}; do setfattr -n user.note -v "$f" "$f"; done
  for f in modes/f{20..24}; do setfacl -m u:12345:r "$f"; done
  chown 1234:2345 modes/f2[5-9] && setfacl -d -m g:54321:rx old/d4 && chmod 2750 old/d4
  for n in {0..4}; do ln "links/f$n" "links/hard$n" && ln "links/f$n" "new/d$n/hard" && echo x >>"links/f$n"; done
  for n in {5..9}; do ln -s "f$n" "links/sym$n" && mv "links/f$n" "links/renamed$n"; done
  for n in {0..9}; do echo new >"replaced/t$n" && mv "replaced/t$n" "replaced/f$n"; done
  mkfifo links/fifo
  rmdir swap/dir && echo file >swap/dir && rm swap/file && mkdir swap/file && echo in >swap/file/in
  python3 - <<P
import os
fd = os.open("large", os.O_WRONLY)
for i in range(16):
    os.pwrite(fd, os.urandom(10000), (i << 20) + i * 4096)
os.close(fd)
fd = os.open("sparse", os.O_WRONLY)
os.pwrite(fd, b"middle", 96 << 20)
os.ftruncate(fd, $sparse_end)
os.close(fd)
P
)

# kill_in_the_middle WHO: as soon as a third of the index is healed: some names come back, for what the healer was at is in the index again.
# Prints what is left of how many names.
kill_in_the_middle() {
  local all now end=$((SECONDS + 60))
  all=$(index_count)
  interop_shd "$1"
  while now=$(index_count) && [ "$now" -gt $((all * 2 / 3)) ] && [ $SECONDS -lt $end ]; do sleep 0.02; done
  shd_stop "$1" KILL
  now=$(index_count)
  echo "$now of $all"
  [ "$now" -gt 0 ] && [ "$now" -le $((all * 3 / 4)) ]
}

nonzero_marks() {
  (cd "$WORK/b$1" && getfattr -R -h -P -d -m '^trusted.afr' -e hex . 2>/dev/null | grep '^trusted.afr' | grep -v '=0x0*$')
}
anonymous_leftovers() { find "$WORK"/b[123]/.glusterfs-anonymous-inode-* -mindepth 1 2>/dev/null; }
nothing_anonymous() { [ -z "$(anonymous_leftovers)" ]; }

# What there is of a brick, and which objects lack their handles; all bricks at once.
describe() { { describe_tree "$WORK/b$1" && gfids "$WORK/b$1"; } >"$WORK/tree$1" && { handles_complete "$WORK/b$1" >"$WORK/handles$1" 2>&1 || echo "status $?" >>"$WORK/handles$1"; }; }

all_alike() {
  local n pids=()
  for n in 1 2 3; do describe $n & pids+=($!); done
  for n in 1 2 3; do ok "$1: brick $n can be read" wait "${pids[n - 1]}"; done
  for n in 2 3; do is "$(diff -a "$WORK/tree1" "$WORK/tree$n" | head -n 20)" "" "$1: copies 1 and $n are the same"; done
  is "$(nonzero_marks 1)$(nonzero_marks 2)$(nonzero_marks 3)" "" "$1: no counter is left"
  ok "$1: nothing is left in the anonymous directory" within 30 nothing_anonymous
  for n in 1 2 3; do is "$(cat "$WORK/handles$n")" "" "$1: brick $n: every object has its handle"; done
}

start_over() {
  local n
  for d in "${MOUNTS[@]}"; do unmount "$d"; done
  MOUNTS=()
  for n in 1 2 3; do brick_stop $n & done # each takes a while to end
  wait
  rm -rf "$WORK"/b?
}

handover() {
  local kind=$1 first=$2 second=$3 what="bricks $1, $2 then $3" m=$WORK/m-$1-$2
  must "$what: bricks start" interop_begin "$kind"
  must "$what: we mount them" interop_mount ours "$m"
  must "$what: there is a tree" before "$m"
  brick_stop 3
  ok "$what: it changes while brick 3 is down" while_one_is_down "$m"
  unmount "$m"
  brick_start 3
  ok "$what: the first healer is killed in the middle" kill_in_the_middle "$first"
  note "$OUTPUT"
  interop_shd "$second"
  ok "$what: the second finishes" within 180 indices_empty
  nothing_anonymous || within 30 nothing_anonymous
  shd_stop "$second" TERM
  all_alike "$what"
  is "$(stat -c %s "$WORK/b3/sparse")" $sparse_end "$what: the sparse file has its size"
  ok "$what: and its holes" [ "$(stat -c %b "$WORK/b3/sparse")" -lt 8192 ]
  start_over
}

both_at_once() {
  local kind=$1 what="bricks $1, both at once" m=$WORK/m-$1-both r=$WORK/r-$1-both one two round
  must "$what: bricks start" interop_begin "$kind"
  must "$what: we mount them" interop_mount ours "$m"
  must "$what: GlusterFS mounts them" interop_mount real "$r"
  must "$what: there is a tree" before "$m"
  mkdir "$m/by-us" "$m/by-them"
  interop_shd ours
  interop_shd real
  python3 "$(dirname "$0")/writer.py" write "$m/by-us" "$WORK/us.json" 60 "$WORK/stop" >"$WORK/us.out" 2>&1 &
  one=$!
  python3 "$(dirname "$0")/writer.py" write "$r/by-them" "$WORK/them.json" 60 "$WORK/stop" >"$WORK/them.out" 2>&1 &
  two=$!
  for round in 1 2 3; do
    brick_stop 3
    [ $round = 1 ] && while_one_is_down "$m"
    within 2 false # for a while it misses what is written
    brick_start 3
    within 30 pending_empty
  done
  touch "$WORK/stop"
  wait $one $two
  rm "$WORK/stop"
  note "ours: $(cat "$WORK/us.out")" "GlusterFS: $(cat "$WORK/them.out")"
  ok "$what: everything is healed" within 180 indices_empty
  for d in "$m" "$r"; do unmount "$d"; done
  MOUNTS=()
  nothing_anonymous || within 30 nothing_anonymous
  shd_stop ours TERM
  shd_stop real TERM
  all_alike "$what"
  ok "$what: what our client was told is there" python3 "$(dirname "$0")/writer.py" check "$WORK/us.json" "$WORK"/b{1,2,3}/by-us
  ok "$what: what theirs was told too" python3 "$(dirname "$0")/writer.py" check "$WORK/them.json" "$WORK"/b{1,2,3}/by-them
  start_over
}

for kind in ${INTEROP_KINDS:-ours real}; do
  handover "$kind" ours real
  handover "$kind" real ours
  both_at_once "$kind"
done
done_testing
