#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The pool's store loses its data on one node, its majority, and a node its address.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/pool.sh"
require_pool
make_nodes 3
for i in 1 2 3; do must "node $i starts" start_node $i; done
must "the second node comes" gi_on 1 peer probe "${ADDR[2]}"
must "the third node comes" gi_on 1 peer probe "${ADDR[3]}"
mkdir -p "$WORK/b1"
must "there is a volume" gi_on 2 volume create one "${ADDR[1]}:$WORK/b1/one" force
ok "all members vote" within 240 all_vote
in_file() { grep -qx "$2" "$WORK/n$1/vols/one/info"; }

# ---- one member's data are lost ----

member=$(cat "$WORK/n3/run/store.pid")
kill -STOP "${NODE_PID[3]}" # until the data are gone: it starts its member again
kill -KILL "$member" && within 10 not_running "$member" && rm -rf "$WORK/n3/store/data"
kill -CONT "${NODE_PID[3]}"
ok "a change works with two of three" within 30 gi_on 3 volume set one user.a b
ok "the third member comes again, as another one" within 240 all_vote 3
ok "the change is everywhere" within 30 in_file 3 user.a=b

# ---- one member hangs ----

kill -STOP "$(cat "$WORK/n1/run/store.pid")"
ok "a change works on a node whose own member hangs" within 40 gi_on 1 volume set one user.a hung
kill -CONT "$(cat "$WORK/n1/run/store.pid")"
ok "and is known there" within 30 in_file 1 user.a=hung

# ---- a node has another address ----

ip -n "gp$$n2" addr add "$POOL_NET.99/24" dev eth0
ok "the second node is called by another address" within 20 gi_on 1 peer update "${ADDR[2]}" "$POOL_NET.99" "${ADDR[2]}"
ok "the third one calls it so" within 10 sees 3 "Hostname: $POOL_NET.99"
ok "and knows the other" sees 3 "Other names:"
ok "it is connected there" within 10 all_connected
nok "a node does not get the address of another one" gi_on 1 peer update "$POOL_NET.99" "${ADDR[3]}"

# ---- a machine is renumbered, with its member of the store ----

member_at() { store_on 1 /v3/cluster/member/list '{}' | jq -r '.members[].peerURLs[]' | grep -q "//$1:"; }
store_answers() { store_on "$1" /v3/kv/range '{"key":"Z2x1c3RlcmlzaC9wb29s"}' | jq -e .kvs >/dev/null; }
old=${ADDR[3]}
kill -STOP "$(cat "$WORK/n3/run/store.pid")" # it does not end in order, as one may not that has lost its connections
ip -n "gp$$n3" addr del "$old/24" dev eth0 && ip -n "gp$$n3" addr add "$POOL_NET.88/24" dev eth0
ok "the third node has another address only" within 15 gi_on 1 peer update "$old" "$POOL_NET.88"
ADDR[3]=$POOL_NET.88
ok "all are connected" within 40 all_connected
ok "its member of the store is found there" within 30 member_at "$POOL_NET.88"
nok "and not where it was" member_at "$old"
ok "as it knows itself" within 30 grep -qx "address=$POOL_NET.88" "$WORK/n3/pool"
ok "it votes" within 30 store_answers 3
ok "as all do" within 240 all_vote
ok "and counts when another one is away" within 5 kill -STOP "$(cat "$WORK/n2/run/store.pid")"
ok "so a change works" within 60 gi_on 3 volume set one user.a moved
kill -CONT "$(cat "$WORK/n2/run/store.pid")"
ok "and is known" within 30 in_file 1 user.a=moved

# ---- the majority is lost ----

signal_node KILL 2
signal_node KILL 3
like "$(gi_on 1 volume set one user.a c 2>&1)" "no majority|not reachable" "nothing can be changed"
ok "the store is made anew" gi_on 1 pool recover --force-new
ok "then it can" gi_on 1 volume set one user.a c
is "$(gi_on 1 peer status | grep -c Disconnected)" 2 "the other nodes are still known"
must "the second node is back" start_node 2
must "and the third" start_node 3
ok "they take what was changed" within 30 in_file 2 user.a=c
ok "both" within 30 in_file 3 user.a=c
ok "and are members again" within 240 all_vote
ok "a change from there" within 30 gi_on 3 volume set one user.a d
ok "is known here" within 30 in_file 1 user.a=d

# ---- two machines of three are renumbered at once ----

for i in 2 3; do
  ip -n "gp$$n$i" addr flush dev eth0 && ip -n "gp$$n$i" addr add "$POOL_NET.6$i/24" dev eth0
done
like "$(gi_on 1 volume set one user.a e 2>&1)" "no majority|not reachable" "two nodes have other addresses: nothing can be changed"
ok "the store is made anew" gi_on 1 pool recover --force-new
ok "and told where the second node is" within 10 gi_on 1 peer update "$POOL_NET.99" "$POOL_NET.62"
ok "and the third" within 10 gi_on 1 peer update "${ADDR[3]}" "$POOL_NET.63"
for i in 2 3; do ADDR[$i]=$POOL_NET.6$i; done
ok "all are connected" within 40 all_connected
ok "something is changed" within 20 gi_on 1 volume set one user.a e
ok "and known to one" within 30 in_file 2 user.a=e
ok "and the other" within 30 in_file 3 user.a=e
ok "all are members" within 240 all_vote
ok "a change from there" within 30 gi_on 3 volume set one user.a f
ok "is known, too" within 30 in_file 1 user.a=f
done_testing
