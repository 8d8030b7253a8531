#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What a mount holds stays within client.memory-limit while many names are looked at, much is read and work is done.
# MEMORY_NAMES (20000), MEMORY_MIB (256), MEMORY_SECONDS (0): how many, how much, and for how long; 300000, 20480 and 600 are what it should stand.
. "$(dirname "$0")/lib.sh"
require_root
require_fuse
names=${MEMORY_NAMES:-20000} mib=${MEMORY_MIB:-256} limit=8
# What the process is beside its caches may grow by that much: tables that double, and what the allocator keeps of what was freed in
# the last seconds (6 to 9 of it). MiB.
slack=14

start_glusterishd >/dev/null
must "a volume is there" start_volume v 1
for key in "client.memory-limit ${limit}MB" "performance.io-cache on" "performance.nl-cache on" "performance.quick-read on"; do
  # shellcheck disable=SC2086
  must "$key" gi volume set v $key
done
export GLUSTERISH_STATEDUMP_DIR=$WORK/dump
must "it is mounted" mount_volume v "$WORK/m" --attribute-timeout=600 --entry-timeout=600
MOUNT_PID=$(pgrep -f "glusterishfs .*$WORK/m\$" | head -n 1)

# The names are made on the brick, which is quicker; directories by the mount, for they need more than a gfid.
make_names() {
  truncate -s "${mib}M" "$WORK/m/large"
  python3 - "$WORK/m/many" "$WORK/bricks/v-1/many" $((names / 1000)) <<'PY'
import os, sys, uuid
mount, brick, n = sys.argv[1], sys.argv[2], int(sys.argv[3])
os.mkdir(mount)
for i in range(n):
    os.mkdir("%s/d%d" % (mount, i))
    for k in range(1000):
        path = "%s/d%d/file-%d" % (brick, i, k)
        os.mknod(path, 0o100644)
        os.setxattr(path, "trusted.gfid", uuid.uuid4().bytes)
PY
}
must "many names are made" make_names
must "the mount is as new" unmount "$WORK/m"
must "it is mounted again" mount_volume v "$WORK/m" --attribute-timeout=600 --entry-timeout=600
MOUNT_PID=$(pgrep -f "glusterishfs .*$WORK/m\$" | head -n 1)
! grep -qE "lib[a-z]*asan" "/proc/$MOUNT_PID/maps" || slack=400 # what was freed is kept for a while

rss() { awk '/^VmRSS/ {print int($2 / 1024)}' "/proc/$MOUNT_PID/status"; }
dumped() { grep -qs 'DUMP-END' "$WORK"/dump/*; }
# of SECTION NAME: a number from the state dump.
dump() { rm -rf "$WORK/dump" && mkdir "$WORK/dump" && kill -USR1 "$MOUNT_PID" && within 10 dumped; }
of() { awk -F= -v s="[$1]" -v n="$2" '$0 == s {in_it = 1; next} /^\[/ {in_it = 0} in_it && $1 == n {print $2; exit}' "$WORK"/dump/*; }
caches_within() {
  dump || return 1
  used=$(of budget used)
  [ "${used:-0}" -gt 1000000 ] && [ "${used:-999999999}" -le $(((limit << 20) * 11 / 10)) ]
}
# within_limit NAME
within_limit() {
  local now kept used=0
  now=$(rss)
  ok "$1: the caches hold what they may, once the kernel has let go" within 20 caches_within
  kept=$(($(of mallinfo payload_kept) >> 20)) # buffers that the next reads and writes use again
  note "$1: VmRSS $now MiB, $before before; the caches hold $((used >> 10)) KiB, $kept MiB are kept for payload"
  note "$(awk -F= '/^\[/ {s = $0} s ~ /^\[budget/ && $2 > 0 {print s, $0}' "$WORK"/dump/*)"
  ok "$1: the process has grown by no more" test $((now - kept)) -le $((before + limit * 11 / 10 + slack))
}

ls "$WORK/m" >/dev/null
before=$(rss)
ls -f "$WORK/m/many/d0" >/dev/null
must "the state is told" dump
each=$(($(of budget used) / 1001))
note "a name that the kernel knows takes $each bytes"
ok "no more than 1700" test "$each" -le 1700
is "$(find "$WORK/m/many" -type f -newermt 2000-01-01 | wc -l)" $((names / 1000 * 1000)) "a walk sees every file"
within_limit "after the walk"
ok "much is read" dd if="$WORK/m/large" of=/dev/null bs=1M status=none
within_limit "after reading"

# mixed: what programs do, again and again.
mixed() {
  python3 - "$WORK/m" <<'PY'
import os, sys
top = sys.argv[1] + "/work"
os.mkdir(top)
for i in range(200):
    path = "%s/%d" % (top, i)
    with open(path, "wb") as f:
        f.write(b"x" * 20000)
    os.path.exists(path + ".none")
    os.rename(path, path + ".new")
    open(path + ".new", "rb").read()
os.listdir(top)
for i in range(200):
    os.unlink("%s/%d.new" % (top, i))
os.rmdir(top)
PY
}
# The first rounds count, too: what grows with the work shows in the end.
work() {
  local i end=$((SECONDS + ${MEMORY_SECONDS:-0}))
  for ((i = 0; i < 4 || SECONDS < end; i++)); do mixed || return 1; done
}
ok "work is done, again and again" work
within_limit "after work"
done_testing
