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

# right NAME SUBJECT: coherence.py finds nothing wrong.
right() { is "$(timeout 60 python3 "$(dirname "$0")/coherence.py" "$2" "$WORK/a" "$WORK/b" 2>&1)" "" "$1"; }

right "own changes hide nothing that another mount wrote" own
right "what was closed is seen by an open that comes later" reopen
right "a counter and a log under fcntl locks lose nothing" fcntl
right "under flock neither" flock
right "under locks of open file descriptions neither" ofd
right "two writers of an SQLite database lose no row" sqlite
right "appended records stay whole, and both see the same" append
done_testing
