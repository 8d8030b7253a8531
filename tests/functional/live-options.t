#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Options and translators change under a running mount, while it is written and read, without a remount and without an error.
. "$(dirname "$0")/lib.sh"
require_root
require_fuse
start_glusterishd
must "the volume starts" start_volume live 3
must "it mounts" mount_volume live "$WORK/mnt"
client=$(pgrep -f "glusterishfs.*$WORK/mnt" | head -n 1)
log=$WORK/mount-mnt.log

# Writes records and reads them back until told to stop; the number of records goes to standard output.
worker() {
  python3 - "$WORK/mnt/data" "$WORK/stop" <<'PY'
import os, sys
n, fd = 0, os.open(sys.argv[1], os.O_CREAT | os.O_RDWR, 0o644)
while not os.path.exists(sys.argv[2]):
    os.pwrite(fd, b"%08d" % n * 512, n * 4096)
    if n % 10 == 0:
        os.fsync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    k = n // 2
    if os.pread(fd, 4096, k * 4096) != b"%08d" % k * 512:
        sys.exit("record %d is wrong" % k)
    n += 1
print(n)
PY
}

worker >"$WORK/count" 2>"$WORK/errors" &
io=$!

logged() { grep -q "$1" "$log"; }

for round in 1 2; do
  ok "a trace translator is put in ($round)" gi volume set live debug.trace client
  ok "and taken out ($round)" gi volume reset live debug.trace
  ok "io-threads are put in ($round)" gi volume set live performance.client-io-threads on
  ok "and taken out ($round)" gi volume set live performance.client-io-threads off
  ok "utime is taken out ($round)" gi volume set live features.ctime off
  ok "and put in ($round)" gi volume set live features.ctime on
  ok "eager locks are switched off ($round)" gi volume set live cluster.eager-lock off
  ok "and on ($round)" gi volume set live cluster.eager-lock on
done
ok "the mount took the trace translator in" within 5 logged "debug/trace joins the running graph"
ok "and let it go" within 5 logged "debug/trace leaves the running graph"

# Values reach the mount and the bricks.
ok "a timeout is set" gi volume set live network.ping-timeout 7
ok "a brick's option is set" gi volume set live performance.io-thread-count 5
is "$(gi volume get live network.ping-timeout | awk 'END {print $2}')" 7 "the daemon tells the value"

for bad in "network.ping-timeout banana" "network.ping-timeout 99999999" "no.such.key 1" "cluster.eager-lock maybe"; do
  out=$(gi volume set live $bad 2>&1) && fail "refused: $bad" "$out" || like "$out" "${bad% *}|${bad#* }" "refused, and named: $bad"
done
is "$(gi volume get live network.ping-timeout | awk 'END {print $2}')" 7 "and nothing changed"

kill -0 "$io" 2>/dev/null && pass "the application went on all the time" || fail "the application went on all the time" "$(cat "$WORK/errors")"
touch "$WORK/stop"
ok "and saw no error" wait "$io"
is "$(cat "$WORK/errors")" "" "nor a wrong byte"
note "$(cat "$WORK/count") records"
is "$(pgrep -f "glusterishfs.*$WORK/mnt" | head -n 1)" "$client" "the mount is the same process"
identical() { [ "$(cat "$WORK"/bricks/live-[23]/data | md5sum)" = "$(cat "$WORK"/bricks/live-1/data "$WORK"/bricks/live-1/data | md5sum)" ]; }
ok "the bricks are identical" within 10 identical
done_testing
