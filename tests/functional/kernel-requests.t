#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What the kernel asks of a mount while a file grows as a database's does, by lseek(SEEK_END) and write; and of names that were listed.
# Counts, so that the machine's speed does not matter.
. "$(dirname "$0")/lib.sh"
require_root
require_fuse
writes=200

cat >"${TMPDIR:-/tmp}/extend.$$.py" <<'PY'
import os, sys
path, writes = sys.argv[1], int(sys.argv[2])
block = os.urandom(8192)
fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
for i in range(writes):
    end = os.lseek(fd, 0, os.SEEK_END)
    assert end == i * len(block), (end, i)
    os.pwrite(fd, block, end)
os.close(fd)
fd = os.open(path, os.O_RDWR)  # pages survive that
for i in range(writes):
    assert os.pread(fd, len(block), i * len(block)) == block, i
assert os.fstat(fd).st_size == writes * len(block)
os.close(fd)
PY
extend=${TMPDIR:-/tmp}/extend.$$.py

dumped() { grep -qs 'DUMP-END' "$WORK"/dump/*; }

# counters: all of the bridge, as NAME=VALUE, in $WORK/counters.
counters() {
  rm -rf "$WORK/dump" && mkdir "$WORK/dump"
  kill -USR1 "$MOUNT_PID" && within 10 dumped && cat "$WORK"/dump/* >"$WORK/counters"
}
counter() { sed -n "s/^$1=//p" "$WORK/counters" | head -n 1; }

start_glusterishd >/dev/null
must "a volume is there" start_volume v 3
must "writes wait for the bricks" gi volume set v performance.write-behind off
export GLUSTERISH_STATEDUMP_DIR=$WORK/dump
must "it is mounted" mount_volume v "$WORK/m"
MOUNT_PID=$(pgrep -f "glusterishfs .*$WORK/m\$" | head -n 1)
must "its counters can be read" counters

# counted FILE: a new file of that name grows, and what the kernel asks meanwhile is counted.
counted() {
  local before asked_before read_before foreign_before
  before=$(counter requests) asked_before=$(counter local_getxattr) read_before=$(counter read_bytes) foreign_before=$(counter foreign_changes)
  python3 "$extend" "$WORK/m/$1" "$writes" && counters || return 1
  requests=$(($(counter requests) - before)) asked=$(($(counter local_getxattr) - asked_before))
  read=$(($(counter read_bytes) - read_before)) foreign=$(($(counter foreign_changes) - foreign_before))
  note "$requests requests for $writes writes, $asked of them about extended attributes"
}

# grows FILE WITH
grows() {
  local requests asked read foreign
  must "$2: a file grows and reads back" counted "$1"
  is "$foreign" 0 "$2: nothing is taken for a change of others"
  ok "$2: at most one request beside each write" [ "$requests" -le $((2 * writes + 20)) ]
  ok "$2: the kernel does not ask for capabilities before each" [ "$asked" -le 5 ]
  # Where the kernel moves pages in memory just then, it copies a page in two parts or drops one: that page is read again.
  ok "$2: what was written is not read again, but for a page or two" [ "$read" -le 8192 ]
}

written_early() { counters && [ "$(counter early_writes)" -ge $((writes / 2)) ]; }

grows plain "without write-behind"
ok "write-behind is switched on" gi volume set v performance.write-behind on
ok "the mount has it" within 20 grep -q "performance/write-behind joins the running graph" "$WORK/mount-m.log"
sleep 1.5 # what it took in while it was away it answers when the bricks have it
grows early "write-behind"
ok "most of that was answered early" written_early
is "$(counter lost_writes)" 0 "and nothing of it lost"
rm -f "$extend"

names=500 # more than an answer has room for

# asked_by COMMAND…: how many requests come meanwhile, in $requests.
asked_by() {
  local before
  counters && before=$(counter requests) && "$@" >/dev/null && counters && requests=$(($(counter requests) - before)) &&
    note "$requests requests for $names names: ${*##*/}"
}

must "there are many names" bash -c 'mkdir "$1" && cd "$1" && for i in $(seq "$2"); do : >"name-$i"; done' - "$WORK/m/d" $names
ok "they are listed" ls -l "$WORK/m/d"
sleep 1.5 # a listing alone is good for a second
must "they are looked at" asked_by bash -c 'cd "$1" && stat name-*' - "$WORK/m/d"
ok "what all bricks said when they were made still counts" [ "$requests" -le 40 ]
unmount "$WORK/m"
must "it is mounted anew" mount_volume v "$WORK/m"
MOUNT_PID=$(pgrep -nf "glusterishfs .*$WORK/m\$")
must "they are added up" asked_by du -s "$WORK/m/d"
ok "the listing has brought all of them" [ "$requests" -le 40 ]
done_testing
