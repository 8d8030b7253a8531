#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A mount and its servers: one that is dead or hangs is passed by, a name service that never answers and a network that comes late hinder
# nobody; the mount hears of changes from another server when the one that it asked hangs or dies.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/pool.sh"
require_pool
require_fuse
# The name service of this test is its own: mounts are in a namespace of their own, too.
[ -n "${OWN_MOUNTS:-}" ] || exec env OWN_MOUNTS=1 unshare -m --propagation private "$(dirname "$0")/own-mounts" bash "$0"
HELPER=$GLUSTERISH_BUILDDIR/programs/mount/mount.glusterish
make_nodes 4 # the last one only mounts
for i in 1 2 3; do must "node $i starts" start_node $i; done
for i in 2 3; do must "node $i comes" gi_on 1 peer probe "${ADDR[$i]}"; done
bricks=()
for i in 1 2 3; do mkdir -p "$WORK/b$i" && bricks+=("${ADDR[$i]}:$WORK/b$i/brick"); done
must "there is a volume" gi_on 1 volume create v replica 3 "${bricks[@]}" force
must "which starts" gi_on 1 volume start v

# helper SOURCE DIR OPTIONS: node 4 mounts it.
helper() {
  mkdir -p "$2"
  MOUNTS+=("$2")
  on 4 timeout 60 "$HELPER" "$1:/v" "$2" -o "log-file=$2.log,$3"
}
# hears DIR TIMES: that mount has taken a changed volfile so often.
hears() { [ "$(grep -c 'options of the new volfile are in force' "$1.log")" -ge "$2" ]; }
home() { grep 'is asked for at' "$1.log" | tail -n 1 | sed 's/.* at //'; }

# ---- one that hangs ----

must "it is mounted with what the first node tells" helper "${ADDR[1]},${ADDR[2]}" "$WORK/m" defaults
is "$(home "$WORK/m")" "${ADDR[1]}:24007" "which is asked"
kill -STOP "${NODE_PID[1]}" # until the mount has noticed
ok "a server that hangs is passed by" helper "${ADDR[1]},${ADDR[2]}" "$WORK/hang" defaults
is "$(home "$WORK/hang")" "${ADDR[2]}:24007" "for the next one"
has_brick() { grep -q "connected to ${ADDR[$2]}:[0-9]*, attached" "$1.log"; }
ok "which knows where the brick of the node that hangs serves" within 20 has_brick "$WORK/hang" 1
for i in 2 3; do ok "as the others do ($i)" within 20 has_brick "$WORK/hang" "$i"; done
ok "so a file has all copies" sh -c 'echo all >"$0/hang/all" && cmp "$0/b1/brick/all" "$0/b2/brick/all" && cmp "$0/b1/brick/all" "$0/b3/brick/all"' "$WORK"

# ---- one that is not there, and names ----

ok "so is an address that nobody has" helper "$POOL_NET.77" "$WORK/dead" "backup-volfile-servers=$POOL_NET.78:${ADDR[3]}"
is "$(home "$WORK/dead")" "${ADDR[3]}:24007" "for a backup server"
on 4 python3 -c '
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("127.0.0.53", 53))
print("there", flush=True)
while True: s.recv(512)' >"$WORK/dns" 2>/dev/null &
disown
within 10 grep -q there "$WORK/dns"
printf 'nameserver 127.0.0.53\noptions timeout:30\n' >"$WORK/resolv.conf"
printf 'hosts: files dns\n' >"$WORK/nsswitch.conf"
mount --bind "$WORK/resolv.conf" /etc/resolv.conf
mount --bind "$WORK/nsswitch.conf" /etc/nsswitch.conf
ok "a name service that never answers hinders nobody" helper "no.such.example,${ADDR[2]}" "$WORK/names" defaults

# ---- the network comes late ----

ip -n "gp$$n4" addr del "${ADDR[4]}/24" dev eth0
nok "without a network there is no mount" helper "${ADDR[2]}" "$WORK/late" defaults
MOUNTS+=("$WORK/late" "$WORK/boot") # what functions in the background do is not known here
helper "${ADDR[2]},no.such.example" "$WORK/late" retry=50s &
helper "no.such.example,${ADDR[3]}" "$WORK/boot" _netdev,rw &
sleep 2
nok "nor after two seconds" mountpoint -q "$WORK/late"
ip -n "gp$$n4" addr add "${ADDR[4]}/24" dev eth0
ok "with retry it is there when the address is" within 40 mountpoint -q "$WORK/late"
ok "and one of boot" within 40 mountpoint -q "$WORK/boot"
ok "it serves" touch "$WORK/boot/file"

# ---- the one that was asked hangs, or dies ----

away() { [ "$(home "$WORK/m")" != "${ADDR[1]}:24007" ]; }
ok "the mount has gone over to another server" within 40 away
ok "an option is set there" within 20 gi_on 2 volume set v performance.write-behind off
ok "and heard of" within 20 hears "$WORK/m" 1
kill -CONT "${NODE_PID[1]}"
for i in 2 3; do
  [ "$(home "$WORK/m")" = "${ADDR[$i]}:24007" ] || continue
  kill -KILL "${NODE_PID[$i]}"
  gone=$i
done
ok "that one dies, and the option is set again" within 30 gi_on 1 volume set v performance.write-behind on
ok "which is heard of too" within 20 hears "$WORK/m" 2
must "it starts again" start_node "$gone"
nok "a volume that nobody knows is said to be so" helper "${ADDR[1]},${ADDR[2]}" "$WORK/none" "volume-id=none"

# ---- units ----

verify() {
  local dir=$WORK/units
  mkdir -p "$dir"
  sed "s|^ExecStart=[^ ]*|ExecStart=/bin/true|" "$GLUSTERISH_BUILDDIR/extras/systemd/glusterishd.service" >"$dir/glusterishd.service"
  cp "$GLUSTERISH_SRCDIR/extras/systemd/srv-data.mount" "$dir"
  SYSTEMD_LOG_LEVEL=warning systemd-analyze verify --man=no "$dir/glusterishd.service" "$dir/srv-data.mount"
}
if command -v systemd-analyze >/dev/null; then
  run verify
  is "$OUTPUT" "" "systemd has nothing to say about the units"
fi
done_testing
