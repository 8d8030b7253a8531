#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What happens to machines: one of three is frozen, cut off, loses its disk, has another name; all are restarted, one alone and
# before there is a network. The volume serves as its quorum allows, and definitions are equal afterwards.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/pool.sh"
require_pool
require_fuse
make_nodes 3
for i in 1 2 3; do must "node $i starts" start_node $i --brick-root="$WORK/b$i"; mkdir -p "$WORK/b$i"; done
must "the second node comes" gi_on 1 peer probe "${ADDR[2]}"
must "the third node comes" gi_on 1 peer probe "${ADDR[3]}"
bricks=()
for i in 1 2 3; do bricks+=("${ADDR[$i]}:$WORK/b$i/brick"); done
must "there is a volume" gi_on 1 volume create data replica 3 "${bricks[@]}" force
for pair in "network.ping-timeout 3" "cluster.server-quorum-type server"; do
  # shellcheck disable=SC2086
  ok "with $pair" gi_on 1 volume set data $pair
done
must "which starts" gi_on 1 volume start data
must "it is mounted on the first node" mount_on 1 1 data "$WORK/m"
ok "all members vote" within 20 all_vote

writes() { timeout 20 dd if=/dev/urandom of="$WORK/m/$1" bs=64k count=4 status=none conv=fsync; }
link() { ip -n "$SWITCH" link set "v$1" "$2"; }
set_to() { gi_on 1 volume set data user.a "$1"; }
all_have() { for i in 1 2 3; do grep -qx "user.a=$1" "$WORK/n$i/vols/data/info" || return 1; done; }
definition() { sed '/^version=/d' "$WORK/n$1/vols/data/info" | sort; }
equal() { [ "$(definition 1)" = "$(definition 2)" ] && [ "$(definition 1)" = "$(definition 3)" ]; }
# well NAME FILE: after the fault called NAME all nodes are there, know the same, and their bricks have the file.
well() {
  ok "$1: all bricks are online" within 40 all_online
  ok "$1: definitions are equal" within 20 equal
  ok "$1: the file is everywhere" within 40 bricks_equal "$2"
}

# ---- one is frozen ----

signal_node STOP 3
ok "one frozen: files are written" writes frozen
ok "it is seen" within 20 sees 1 "Disconnected"
ok "definitions change" within 10 set_to frozen
signal_node CONT 3
ok "it learns of that" within 20 all_have frozen
well "one frozen" frozen

# ---- one is cut off ----

link 3 down
ok "one cut off: files are written" writes cut
ok "it is seen" within 20 sees 1 "Disconnected"
ok "definitions change" within 10 set_to cut
no_brick_on() {
  local file pid
  for file in "$WORK/n$1"/run/vols/data/*.pid; do
    pid=$(cat "$file" 2>/dev/null) && in_network_of "$1" "$pid" && ! not_running "$pid" && return 1
  done
  return 0
}
ok "it stops its brick, as too few nodes are there" within 30 no_brick_on 3
link 3 up
ok "it learns of that" within 20 all_have cut
well "one cut off" cut

# ---- one loses the disk of its brick ----

signal_node KILL 2
rm -rf "$WORK/b2/brick"
must "the node comes with an empty disk" start_node 2
ok "files are written" writes wiped
two_serve() { [ "$(online_on 1)" = 2 ]; }
ok "the other bricks serve" within 20 two_serve
mkdir -p "$WORK/b2/brick"
ok "the brick is given up" within 10 gi_on 3 volume reset-brick data "${bricks[1]}" start
ok "and begun anew in the new directory" within 10 gi_on 3 volume reset-brick data "${bricks[1]}" "${bricks[1]}" commit force
well "disk lost" wiped
ok "with the older files" within 30 bricks_equal cut

# ---- one has another name ----

ip -n "gp$$n2" addr add "$POOL_NET.88/24" dev eth0
ok "a node gets another name" within 10 gi_on 3 peer update "${ADDR[2]}" "$POOL_NET.88" "${ADDR[2]}"
ok "which the others see" within 10 sees 1 "Hostname: $POOL_NET.88"
ok "files are written" writes named
well "renamed" named

# ---- all stop, one comes before the others, without network ----

umount "$WORK/m"
for i in 1 2 3; do signal_node KILL $i; done
for i in 1 2 3; do link $i down; done
must "a node starts without network" start_node 3
sleep 2
ok "alone it starts no brick" no_brick_on 3
must "another one comes" start_node 1
must "and the last one" start_node 2
for i in 2 1 3; do link $i up; done
well "network late" cut
must "it is mounted again" mount_on 1 1 data "$WORK/m"
ok "and written to" writes late
well "written to" late
done_testing
