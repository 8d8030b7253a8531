#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Clocks of nodes that are an hour off, one ahead and one behind: what counts time (tokens, the lock, the store) does not ask what time it is,
# and certificates are good for everybody from the moment they are made. All are restarted, in any order.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/pool.sh"
require_pool
require_fuse
command -v cc >/dev/null || skip_all "needs a C compiler"
make_work
cat >"$WORK/off.c" <<'C'
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* What time it is, CLOCK_OFF seconds later. */
int
clock_gettime(clockid_t id, struct timespec *t)
{
  const char *off = getenv("CLOCK_OFF");
  int ret = (int)syscall(SYS_clock_gettime, id, t);
  if (!ret && off && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
    t->tv_sec += atoi(off);
  return ret;
}

int
gettimeofday(struct timeval *restrict t, void *restrict zone)
{
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  *t = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
  return 0;
}

time_t
time(time_t *t)
{
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return t ? *t = now.tv_sec : now.tv_sec;
}
C
must "clocks can be off" cc -shared -fPIC -o "$WORK/off.so" "$WORK/off.c"
make_nodes 3
# start_off N: as start_node, with the clock that the node has. etcd, which is no program of C, has that of the machine.
OFF=(none 0 -3600 3600)
start_off() {
  local -x LD_PRELOAD=$WORK/off.so CLOCK_OFF=${OFF[$1]} ASAN_OPTIONS="${ASAN_OPTIONS:-}:verify_asan_link_order=0"
  start_node "$1"
}
for i in 1 2 3; do must "node $i starts, its clock ${OFF[$i]} s off" start_off $i; mkdir -p "$WORK/b$i"; done
hour() { date -u -d "$(head -n 1 "$WORK/n$1/log/glusterishd.log" | sed 's/^\[\([0-9-]* [0-9:]*\).*/\1/')" +%s; }
ok "one is two hours behind another" test $(($(hour 3) - $(hour 2))) -gt 7000
token=$(gi_on 1 pool token)
must "a token made here lets one from the past come" gi_on 2 pool join "$token@${ADDR[1]}"
token=$(gi_on 2 pool token)
must "one made in the past lets one from the future come" gi_on 3 pool join "$token@${ADDR[2]}"
ok "all vote" within 30 all_vote
bricks=()
for i in 1 2 3; do bricks+=("${ADDR[$i]}:$WORK/b$i/brick"); done
must "a volume is made in the future" gi_on 3 volume create data replica 3 "${bricks[@]}" force
must "and started in the past" gi_on 2 volume start data
must "it is mounted" mount_on 1 1 data "$WORK/m"
writes() { timeout 20 dd if=/dev/urandom of="$WORK/m/$1" bs=64k count=4 status=none conv=fsync; }
ok "files are written" writes file
age=$(($(date +%s) - $(stat -c %Y "$WORK/m/file")))
ok "their times are those of the machine that writes" test "$age" -ge 0 -a "$age" -lt 60
ok "and the same wherever they are looked at" bricks_equal file

# ---- certificates ----

must "certificates are made in the future" gi_on 3 pool tls enable
encrypted() { [ "$(gi_on "$1" --json pool tls status | jq '[.output.nodes[]? | select(.encrypted)] | length')" = 2 ]; }
for i in 1 2 3; do ok "node $i is connected with them" within 60 encrypted $i; done
ok "all are connected" within 10 all_connected
ok "an option is set in the past" within 10 gi_on 2 volume set data user.a past
heard() { for i in 1 2 3; do grep -qx "user.a=$1" "$WORK/n$i/vols/data/info" || return 1; done; }
ok "and heard of everywhere" within 10 heard past
ok "they are renewed in the past" within 10 gi_on 2 pool tls rotate
for i in 1 2 3; do ok "node $i is connected with those" within 60 encrypted $i; done
ok "the volume serves" writes more

# ---- restarted in any order ----

umount "$WORK/m"
for order in "3 1 2" "2 3 1"; do
  for i in 1 2 3; do signal_node KILL "$i"; done
  for i in $order; do must "$order: node $i starts" start_off "$i"; done
  ok "$order: all are connected" within 30 all_connected
  ok "$order: all bricks are online" within 40 all_online
  ok "$order: a definition changes" within 20 gi_on 1 volume set data user.a "${order// /}"
  ok "$order: everywhere" within 20 heard "${order// /}"
done
ok "certificates go" within 10 gi_on 3 pool tls disable # the mount would need some
must "it is mounted again" mount_on 1 1 data "$WORK/m"
ok "and serves" writes last
ok "the file is everywhere" within 20 bricks_equal last
done_testing
