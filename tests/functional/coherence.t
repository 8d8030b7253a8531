#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Two mounts of one volume: what each sees of the other.
. "$(dirname "$0")/lib.sh"
require_root
require_fuse
start_glusterishd >/dev/null
must "a volume is there" start_volume coherence 3
must "it is mounted" mount_volume coherence "$WORK/a"
must "it is mounted a second time" mount_volume coherence "$WORK/b"
must "and with names that live long" mount_volume coherence "$WORK/n" --entry-timeout=60
must "and with the write-back of the kernel" mount_volume coherence "$WORK/w" --kernel-writeback-cache=yes

look() { timeout 300 python3 "$(dirname "$0")/coherence.py" "$1" "$WORK/a" "$WORK/${2:-b}" >"$WORK/$1.out" 2>&1 || echo "status $?" >>"$WORK/$1.out"; }

# right NAME SUBJECT: coherence.py found nothing wrong.
right() { is "$(cat "$WORK/$2.out")" "" "$1"; }

# These mostly sleep.
for subject in own reopen tail append; do look "$subject" & pids+=($!); done
wait "${pids[@]}"
right "own changes hide nothing that another mount wrote" own
right "what was closed is seen by an open that comes later" reopen
right "a reader of a growing file reads nothing that was not written" tail
right "appended records stay whole, and both see the same" append

for subject in atonce fcntl flock ofd opened sqlite; do look "$subject"; done
look writeback w
right "what was closed is read by an open that comes right after" atonce
right "a counter and a log under fcntl locks lose nothing" fcntl
right "under flock neither" flock
right "under locks of open file descriptions neither" ofd
right "nor what is opened under a lock of another file" opened
right "a counter under locks, written back by one of two, neither" writeback
echo old >"$WORK/n/name" && ln "$WORK/n/name" "$WORK/n/keeps"
echo new >"$WORK/b/new" && ln "$WORK/b/new" "$WORK/b/stays" && mv "$WORK/b/new" "$WORK/b/name"
ok "a name that another mount has given to another file can be removed" rm "$WORK/n/name"
ok "and is gone" test ! -e "$WORK/b/name"
is "$(stat -c %h "$WORK/n/keeps" "$WORK/n/stays" | xargs)" "1 1" "each file has lost one name"
right "two writers of an SQLite database lose no row" sqlite
done_testing
