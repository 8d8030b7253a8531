#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Strangers at the ports of a node of a pool, with TLS: of its store, of the daemon and of a brick. Memory stays bounded, and commands and
# data go on.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/pool.sh"
require_pool
require_fuse
make_nodes 3 # the third one is a stranger
for i in 1 2; do must "node $i starts" start_node $i; done
must "the second node comes" gi_on 1 peer probe "${ADDR[2]}"
mkdir -p "$WORK/b1" "$WORK/b2"
must "a volume over two nodes" gi_on 1 volume create v replica 2 "${ADDR[1]}:$WORK/b1/v" "${ADDR[2]}:$WORK/b2/v" force
must "is started" gi_on 1 volume start v
must "TLS is on" gi_on 1 pool tls enable
must "and demanded" gi_on 1 pool tls require
ok "the nodes are connected" within 20 bothways
mount_node() { GLUSTERISH_SECURE_ACCESS=$WORK/n1/secure-access mount_on 1 2 v "$WORK/m"; }
must "the volume is mounted" mount_node
port=$(gi_on 1 volume status v --json | jq -r --arg host "${ADDR[1]}" '[.. | objects | select(.port? and (.hostname? == $host))] | first | .port')
brick=$(cat "$WORK"/n1/run/vols/v/*.pid)
most=128 # MiB more
! grep -qE "lib[a-z]*asan" "/proc/$brick/maps" || most=528 # what was freed is kept for a while

# bears NAME PORT PID: whoever means it is served while a stranger does each of it, and memory is bounded.
bears() {
  local kind said
  for kind in flood big idle shake; do
    said=$(on 3 python3 "$(dirname "$0")/strangers.py" $kind "${ADDR[1]}" "$2" "$3" \
      "echo $kind >'$WORK/m/file' && grep -qx $kind '$WORK/b1/v/file' '$WORK/b2/v/file' && nsenter --net=/run/netns/gp$$n2 '$GLUSTERISH' --mode=script --glusterd-sock='$WORK/n2/glusterishd.socket' volume set v user.kind $kind" 2>&1)
    note "$SECONDS s: $kind: $said"
    like "$said" '^[0-9]+ status 0:' "$1, $kind: who means it is served"
    ok "$1, $kind: memory is bounded" test "$(tail -n 1 <<<"$said" | awk '{print $1 + 0}')" -lt $most
    kill -0 "$3" || fail "$1, $kind: the process lives"
  done
}
bears "the store" 24009 "$(cat "$WORK/n1/run/store.pid")"
bears "the daemon" 24007 "${NODE_PID[1]}"
bears "a brick" "$port" "$brick"
done_testing
