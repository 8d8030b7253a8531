#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The pool's store is stopped, has no majority, no space or no data any more, and the daemon has no space for its own files: files of the
# volume are written on, commands say what is wrong, and all is well when it is mended.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/pool.sh"
require_pool
require_fuse
make_nodes 3

# A store that does not start while it must not, on a disk of its own.
cat >"$WORK/etcd" <<'SH'
#!/bin/sh
[ -e "$(dirname "$0")/no-store" ] && exit 1
exec etcd "$@"
SH
chmod 755 "$WORK/etcd" "$WORK" # it runs as another user
export GLUSTERISH_ETCD=$WORK/etcd
mkdir -p "$WORK/n3"
mount -t tmpfs -o size=40m none "$WORK/n3" || skip_all "needs tmpfs"
for i in 2 3; do
  mkdir -p "$WORK/n$i/store"
  mount -t tmpfs -o size=150m none "$WORK/n$i/store" || skip_all "needs tmpfs"
  MOUNTS+=("$WORK/n$i/store")
done
MOUNTS+=("$WORK/n3") # after what is mounted in it
for i in 1 2 3; do must "node $i starts" start_node $i; mkdir -p "$WORK/b$i"; done
must "the second node comes" gi_on 1 peer probe "${ADDR[2]}"
must "the third node comes" gi_on 1 peer probe "${ADDR[3]}"
must "there is a volume" gi_on 1 volume create data replica 3 "${ADDR[1]}:$WORK/b1/data" "${ADDR[2]}:$WORK/b2/data" "${ADDR[3]}:$WORK/b3/data" force
must "which starts" gi_on 1 volume start data
must "it is mounted on the first node" mount_on 1 1 data "$WORK/m"
ok "all members vote" within 20 all_vote

# A writer, until it is told to stop; it ends at the first error.
(
  n=0
  while [ ! -e "$WORK/stop" ]; do
    n=$((n + 1))
    echo "$n" | dd of="$WORK/m/file" conv=fsync,notrunc status=none || exit 1
    echo "$n" >"$WORK/written"
    sleep 0.05
  done
) &
WRITER=$!
beyond() { [ "$(cat "$WORK/written")" -gt "$1" ]; }
goes_on() { within 10 beyond $(($(cat "$WORK/written") + 3)); }
option() { grep -qx "user.a=$2" "$WORK/n$1/vols/data/info"; }
everywhere() { option 1 "$1" && option 2 "$1" && option 3 "$1"; }

# refuses [VALUE]: a change is refused; ANSWER and TOOK tell of it.
refuses() {
  local start=$SECONDS
  ! ANSWER=$(gi_on 1 volume set data user.a "${1-refused}" 2>&1) || return 1
  TOOK=$((SECONDS - start))
}

# refused NAME REGEX: the change was refused soon, with the reason; what only shows is answered.
refused() {
  like "$ANSWER" "$2" "$1: a change is refused, with the reason"
  ok "$1: soon" test "$TOOK" -le 10
  ok "$1: what only shows goes on" gi_on 1 volume info data
  ok "$1: files are written" goes_on
}
mended() {
  ok "$1: it changes when all is mended" within 30 gi_on 1 volume set data user.a "$2"
  ok "$1: everywhere" within 20 everywhere "$2"
}
stop_store() { kill -KILL "$(cat "$WORK/n$1/run/store.pid")"; }

# ---- one member stops, then two, then all ----

ok "the writer writes" goes_on
touch "$WORK/no-store"
stop_store 3
ok "one stopped: it changes" within 10 gi_on 3 volume set data user.a one
stop_store 2
ok "two stopped: a change does not go" refuses
refused two "no majority"
stop_store 1
ok "all stopped: a change does not go" refuses
refused all "not reachable|no majority"
rm "$WORK/no-store"
mended stopped again

# ---- a disk is full ----

fill() { dd if=/dev/zero of="$WORK/n$1/store/filler" bs=1M status=none 2>/dev/null || true; }
fill 3
ok "one disk full: it changes" within 10 gi_on 3 volume set data user.a full
fill 2
# What a store has got ahead takes small changes for longer than large ones, so the one that is refused is the one looked at.
if within 15 refuses "$(head -c 60000 /dev/zero | tr '\0' x)"; then
  refused disks "no majority|not reachable"
else
  pass "a store with what it has got ahead goes on"
fi
rm -f "$WORK"/n[23]/store/filler
mended full well

# ---- the data of a member that runs go ----

rm -rf "$WORK/n3/store/data"
ok "data lost: it changes" within 10 gi_on 3 volume set data user.a lost
ok "data lost: files are written" goes_on
ok "data lost: the member comes again, as another one" within 30 all_vote
mended lost anew

# ---- the daemon's own disk is full ----

dd if=/dev/zero of="$WORK/n3/filler" bs=1M status=none 2>/dev/null
ok "own disk full: it changes, on that node" within 10 gi_on 3 volume set data user.a own
ok "own disk full: the others know" within 10 option 1 own
ok "own disk full: files are written" goes_on
ok "own disk full: all bricks are online" within 10 all_online
rm "$WORK/n3/filler"
mended own end

touch "$WORK/stop"
ok "the writer has seen no error" wait $WRITER
ok "all members vote again" within 20 all_vote
is "$(cat "$WORK/m/file")" "$(cat "$WORK/written")" "what it wrote is there"
done_testing
