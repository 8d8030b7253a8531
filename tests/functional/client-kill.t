#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# kill -9 of the client in the middle of writes: everything that was fsynced is on all three bricks. And while the kernel drops a name for it in
# a directory in which it has a rename under way: who renames is let go.
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

many_safe() { [ "$(cat "$WORK/safe" 2>/dev/null || echo 0)" -ge 100 ]; }

for options in "" --kernel-writeback-cache=yes; do
  name=plain${options:+-writeback}
  must "it mounts ($name)" mount_volume kill "$WORK/mnt" $options
  rm -f "$WORK/safe"
  writer "$WORK/mnt/$name" "$WORK/safe" 2>/dev/null &
  writer_pid=$!
  within 30 many_safe
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

# ---- a rename of a brick that does not answer, and a name of the same directory that another client removes ----

name_on() { basename "$(find "$WORK/bricks/spread-$1/d" -name 'f*' -size +0 | head -n 1)"; }
# A thread of the client waits for the lock of the directory: what its siblings have in hand holds it.
waits_for_a_lock() { cat /proc/"$client"/task/*/stat | grep -q ') D '; }
must "a volume of two bricks starts" start_volume spread 1 2
must "whose answers may take long" gi volume set spread network.ping-timeout 120
must "and which promise to tell for as long" gi volume set spread features.cache-invalidation-timeout 600
# Kernels keep names: a rename that looked its file up first would wait for that, without the lock of the directory.
must "it is mounted" mount_volume spread "$WORK/killed" --attribute-timeout=600 --entry-timeout=600
must "and a second time" mount_volume spread "$WORK/other" --attribute-timeout=600 --entry-timeout=600
mkdir "$WORK/killed/d"
for i in $(seq 12); do echo data >"$WORK/killed/d/f$i"; done
ls -l "$WORK/other/d" >"$WORK/listing"
slow=$(name_on 1) gone=$(name_on 2)
cat "$WORK/killed/d/$gone" >"$WORK/read" # the kernel knows the name
client=$(pgrep -f "glusterishfs.*$WORK/killed\$")
kill -STOP "$(brick_pid spread "$WORK/bricks/spread-1")"
python3 -c 'import os, sys; open(sys.argv[2], "w").close(); os.rename(sys.argv[1], sys.argv[1] + ".new")' \
  "$WORK/killed/d/$slow" "$WORK/renames" 2>"$WORK/renamed" &
renaming=$!
is_asked() { [ -e "$WORK/renames" ] && grep -q '^State:.S' "/proc/$renaming/status"; } # it sleeps until it is answered
ok "a rename asks it" within 30 is_asked
rm "$WORK/other/d/$gone" &
removing=$!
ok "the kernel waits for the rename to drop the name that was removed" within 30 waits_for_a_lock
kill -9 "$client"
ok "who renames is let go when the client is killed" within 20 not_running "$renaming"
kill -CONT "$(brick_pid spread "$WORK/bricks/spread-1")"
umount -f -l "$WORK/killed"
wait "$renaming" "$removing"
done_testing
