#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Three machines become a pool: a replica 3 volume over them, managed from any, with one killed and back and with the store away.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/pool.sh"
require_pool
require_fuse
make_nodes 3
for i in 1 2 3; do must "node $i starts" start_node $i; done

# ---- from nothing to a volume ----

is "$(gi_on 1 peer probe "${ADDR[1]}")" "peer probe: Probe on localhost not needed" "a node does not probe itself"
must "the second node comes" gi_on 1 peer probe "${ADDR[2]}"
must "the third node comes, and the second one asks it" gi_on 2 peer probe "${ADDR[3]}"
is "$(gi_on 3 peer probe "${ADDR[1]}")" "peer probe: Host ${ADDR[1]} port 24007 already in peer list" "once is enough"
ok "each is connected with each" within 10 all_connected
ok "three members of the store vote" within 20 all_vote

bricks=()
for i in 1 2 3; do
  bricks+=("${ADDR[$i]}:$WORK/b$i/brick")
  mkdir -p "$WORK/b$i"
done
must "a volume over three nodes is made on the third" gi_on 3 volume create pool replica 3 "${bricks[@]}" force
must "and started on the second" gi_on 2 volume start pool
ok "the first one shows all bricks online" within 10 all_online
ok "and the second one a self-heal daemon on each" within 10 all_heal
like "$(gi_on 2 peer detach "${ADDR[3]}" 2>&1)" "Peer ${ADDR[3]} hosts one or more bricks" "a node with bricks stays"

# ---- a mount on the first node ----

must "the first node mounts it from the second one" mount_on 1 2 pool "$WORK/m"
ok "files are written" dd if=/dev/urandom of="$WORK/m/file" bs=64k count=16 status=none conv=fsync
ok "an option set on the third node" gi_on 3 volume set pool performance.stat-prefetch off
ok "is known on the first" within 10 option_on 1 performance.stat-prefetch off
ok "every node has the file" within 20 bricks_equal file

# ---- one node dies and comes back ----

signal_node KILL 3
ok "writing goes on with one node dead" dd if=/dev/urandom of="$WORK/m/file" bs=64k count=16 status=none conv=fsync
ok "its end is seen" within 20 sees 1 "Disconnected"
run gi_on 1 volume status pool
is "$?" 1 "a part of the answer is not success"
like "$OUTPUT" "node ${ADDR[3]} does not answer" "the node is named"
is "$(online_on 1)" 2 "two bricks are online"
ok "a definition changes with two of three" gi_on 2 volume set pool performance.stat-prefetch on
must "the node comes back" start_node 3
ok "with what was changed meanwhile" within 30 option_on 3 performance.stat-prefetch on
ok "and its brick" within 30 all_online
ok "which is healed" within 60 bricks_equal file

# ---- the store without majority ----

for i in 2 3; do kill -STOP "$(cat "$WORK/n$i/run/store.pid")"; done
ok "files are written without the store" dd if=/dev/urandom of="$WORK/m/other" bs=64k count=4 status=none conv=fsync
start=$SECONDS
run gi_on 1 volume set pool performance.stat-prefetch off
is "$?" 1 "nothing can be changed"
like "$OUTPUT" "no majority" "and why"
ok "which is known before the tool gives up waiting" test $((SECONDS - start)) -le 40
is "$(online_on 1)" 3 "what only shows goes on"
ok "and so does the start of bricks that are down" gi_on 1 volume start pool force
for i in 2 3; do kill -CONT "$(cat "$WORK/n$i/run/store.pid")"; done
ok "all is well when it is back" within 30 gi_on 1 volume set pool performance.stat-prefetch off

# ---- the end ----

umount "$WORK/m"
ok "the volume is stopped everywhere" gi_on 3 volume stop pool
is "$(brick_processes)" 0 "no brick runs"
ok "and deleted" gi_on 1 volume delete pool
knows_none() { [ "$(gi_on 2 volume list 2>&1)" = "No volumes present in cluster" ]; }
ok "nobody has it any more" within 10 knows_none
done_testing
