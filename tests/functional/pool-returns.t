#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A node comes back: after it was killed, with another address, with another name, and without its system disk. Nodes are known by names
# here, as bricks are.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/pool.sh"
require_pool
require_fuse
# Names of this test are in a file of its own: mounts are in a namespace of their own, too.
[ -n "${OWN_MOUNTS:-}" ] || exec env OWN_MOUNTS=1 unshare -m --propagation private "$(dirname "$0")/own-mounts" bash "$0"
make_nodes 3
printf 'hosts: files\n' >"$WORK/nsswitch.conf"
# names LINE...: all that resolve.
names() { printf '%s\n' '127.0.0.1 localhost' "$@" >"$WORK/hosts"; }
names "${ADDR[1]} one" "${ADDR[2]} two" "${ADDR[3]} three"
mount --bind "$WORK/hosts" /etc/hosts
mount --bind "$WORK/nsswitch.conf" /etc/nsswitch.conf
name=(none one two three)
for i in 1 2 3; do must "node $i starts" start_node $i; mkdir -p "$WORK/b$i"; done
must "the second node comes" gi_on 1 peer probe two
must "the third node comes" gi_on 1 peer probe three
ok "the first one has its name" gi_on 2 peer probe one
bricks=()
for i in 1 2 3; do bricks+=("${name[$i]}:$WORK/b$i/brick"); done
must "there is a volume" gi_on 1 volume create data replica 3 "${bricks[@]}" force
ok "pings are soon" gi_on 1 volume set data network.ping-timeout 3
must "which starts" gi_on 1 volume start data
must "it is mounted on the first node" mount_on 1 1 data "$WORK/m"
ok "all members vote" within 20 all_vote

writes() { timeout 20 dd if=/dev/urandom of="$WORK/m/$1" bs=64k count=4 status=none conv=fsync; }
set_to() { gi_on 1 volume set data user.a "$1"; }
definition() { sed '/^version=/d' "$WORK/n$1/vols/data/info" | sort; }
equal() { [ "$(definition 1)" = "$(definition 2)" ] && [ "$(definition 1)" = "$(definition 3)" ]; }
all_have() { for i in 1 2 3; do grep -qx "user.a=$1" "$WORK/n$i/vols/data/info" || return 1; done; }
has_store() { store_on "$1" /v3/maintenance/status '{}' | jq -e .leader >/dev/null; }
# well NAME FILE: after the fault called NAME all nodes are there, know the same, and their bricks have the file.
well() {
  ok "$1: all are connected" within 20 all_connected
  ok "$1: all bricks are online" within 40 all_online
  ok "$1: what changed meanwhile is known" within 20 all_have "$2"
  ok "$1: definitions are equal" within 20 equal
  ok "$1: the file is everywhere" within 40 bricks_equal "$2"
  ok "$1: all are members of the store" within 240 all_vote
  for i in 1 2 3; do ok "$1: which node $i has" within 40 has_store $i; done
}

# ---- killed ----

signal_node KILL 2
ok "one killed: files are written" writes killed
ok "definitions change" within 10 set_to killed
must "it starts again" start_node 2
well killed killed

# ---- renumbered ----

signal_node KILL 2
names "${ADDR[1]} one" "$POOL_NET.52 two" "${ADDR[3]} three"
ip -n "gp$$n2" addr del "${ADDR[2]}/24" dev eth0
ip -n "gp$$n2" addr add "$POOL_NET.52/24" dev eth0
ok "one has another address: files are written" writes renumbered
ok "definitions change" within 10 set_to renumbered
must "it starts with the new address" start_node 2
well renumbered renumbered

# ---- renamed ----

names "${ADDR[1]} one" "$POOL_NET.52 two second" "${ADDR[3]} three"
ok "one has another name" within 20 gi_on 3 peer update two second two
ok "which the others see" within 10 sees 1 "Hostname: second"
ok "files are written" writes renamed
ok "definitions change" within 10 set_to renamed
well renamed renamed

# ---- without its system disk ----

signal_node KILL 3
rm -rf "$WORK/n3"
ok "one loses its system disk: files are written" writes lost
ok "definitions change" within 10 set_to lost
must "the machine is installed anew" start_node 3
token=$(gi_on 1 pool token)
like "$(gi_on 3 pool join "$token@one" 2>&1)" "pool join TOKEN@HOST as three" "it is no new node"
token=$(gi_on 1 pool token)
like "$(gi_on 3 pool join "$token@one" as second 2>&1)" "node second is there" "nor one that is there"
token=$(gi_on 1 pool token)
must "it comes back as what it was" gi_on 3 pool join "$token@one" as three
well lost lost
like "$(gi_on 3 pool list)" "second" "it knows the others by their names"
ok "it takes commands" within 10 gi_on 3 volume set data user.a end
done_testing
