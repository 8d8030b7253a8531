#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Bricks go where the nodes have room, and a node takes the place of another one: of one that is there, with the new one's daemon killed
# on the way, and of one that is dead.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/pool.sh"
require_pool
require_fuse
make_nodes 4
for i in 1 2 3 4; do
  mkdir -p "$WORK/b$i"
  must "node $i starts" start_node $i --brick-root="$WORK/b$i"
done
must "the second node comes" gi_on 1 peer probe "${ADDR[2]}"
must "the third node comes" gi_on 1 peer probe "${ADDR[3]}"

# ---- bricks where room is ----

run gi_on 2 volume create data replica 3 auto force
is "$?" 0 "a volume is made without names of bricks"
for i in 1 2 3; do like "$OUTPUT" "Brick[123]: ${ADDR[$i]}:$WORK/b$i/data-1 \(.*free\)" "which are told: node $i"; done
run gi_on 3 --json volume create arb replica 3 arbiter 1 auto 3 force
is "$?" 0 "one of three sets with arbiters"
hosts() { gi_on 1 --json volume info arb | jq -r '.output.volumes[0].bricks[].name' | sed 's/:.*//'; }
is "$(jq -r '.output.placed[].brick' <<<"$OUTPUT" | sed 's/:.*//')" "$(hosts)" "JSON tells them, too"
is "$(hosts | sed -n '1~3p;2~3p;3~3p' | paste - - - | awk '$1 == $2 || $2 == $3 || $1 == $3')" "" "no set has two bricks on one node"
is "$(hosts | sed -n '3~3p' | sort -u | wc -l)" 3 "every node has an arbiter"
like "$(gi_on 1 volume create more replica 4 auto force 2>&1)" "success" "by force there are two copies on one node"
gi_on 1 volume delete more >/dev/null && gi_on 1 volume delete arb >/dev/null

# ---- a node that is there is replaced ----

must "the volume starts" gi_on 1 volume start data
must "it is mounted" mount_on 1 1 data "$WORK/m"
for i in $(seq 20); do head -c 65536 /dev/urandom >"$WORK/m/f$i"; done
is "$(gi_on 1 node status)" "No node takes the place of another." "nobody is replaced"
like "$(gi_on 1 node replace "${ADDR[3]}" "${ADDR[2]}" 2>&1)" "would be on one node" "not by one that has a copy"
must "the fourth node takes the place of the third" gi_on 2 node replace "${ADDR[3]}" "${ADDR[4]}" force
kill -KILL "${NODE_PID[4]}" && within 10 not_running "${NODE_PID[4]}"
tells() { gi_on "$1" node status | grep -q "$2"; }
ok "its daemon is killed, which is told" within 20 tells 1 "is not connected"
must "it starts again" start_node 4 --brick-root="$WORK/b4"
ok "and goes on, as every node tells" within 60 tells 1 "^State: done"
for i in $(seq 20); do cmp -s "$WORK/m/f$i" "$WORK/b4/data-1/f$i" || echo "f$i"; done >"$WORK/differ"
is "$(cat "$WORK/differ")" "" "it has all files"
nok "the old node is in the pool no more" sees 1 "${ADDR[3]}"
is "$(gi_on 4 --json node status | jq -r '.output.replace | "\(.state) \(.bricks)"')" "done 1" "JSON says it, too"

# ---- a dead node is replaced ----

echo new >"$WORK/m/f1"
signal_node KILL 2
echo newer >"$WORK/m/f2"
alone() { [ "$(gi_on "$1" pool list | wc -l)" = 2 ]; }
must "the detached node is alone" within 20 alone 3
must "it takes the place of the dead one" within 20 gi_on 1 node replace "${ADDR[2]}" "${ADDR[3]}" force
ok "which is done" within 60 tells 4 "^State: done"
is "$(cat "$WORK/b3/data-2/f2")" newer "it has what was written meanwhile"
is "$(gi_on 1 peer status | grep -c Connected)" 2 "three nodes are the pool"
umount "$WORK/m"
done_testing
