#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# kill -9 of the client in the middle of writes: everything that was fsynced is on all three bricks.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/bricks.sh"
require_root
require_fuse
start_glusterishd
must "the volume starts" start_volume kill 3

# Appends numbered records, fsyncs each, and notes outside the volume which are safe.
writer() {
  python3 - "$1" "$2" <<'PY'
import os, sys
fd = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY, 0o644)
safe = open(sys.argv[2], "w")
for i in range(100000):
    os.pwrite(fd, (b"%08d" % i) * 512, i * 4096)
    os.fsync(fd)
    safe.seek(0)
    safe.write("%d" % (i + 1))
    safe.flush()
PY
}

# holds BRICKFILE COUNT: the first COUNT records are there.
holds() {
  python3 - "$1" "$2" <<'PY'
import sys
with open(sys.argv[1], "rb") as f:
    for i in range(int(sys.argv[2])):
        if f.read(4096) != (b"%08d" % i) * 512:
            sys.exit("record %d is not there" % i)
PY
}

for options in "" --kernel-writeback-cache=yes; do
  name=plain${options:+-writeback}
  must "it mounts ($name)" mount_volume kill "$WORK/mnt" $options
  writer "$WORK/mnt/$name" "$WORK/safe" 2>/dev/null &
  writer_pid=$!
  sleep 2
  client=$(pgrep -f "glusterishfs.*$WORK/mnt" | head -n 1)
  kill -9 "$client"
  wait $writer_pid 2>/dev/null
  umount -l "$WORK/mnt"
  safe=$(cat "$WORK/safe")
  note "$safe records were safe when the client was killed ($name)"
  like "$safe" '^[1-9][0-9]+$' "records were written before the kill ($name)"
  for b in 1 2 3; do
    ok "brick $b holds all of them ($name)" holds "$WORK/bricks/kill-$b/$name" "$safe"
  done
done
ok "a new mount reads the file" mount_volume kill "$WORK/mnt"
ok "with every safe record" holds "$WORK/mnt/plain" 1
done_testing
