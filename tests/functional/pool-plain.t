#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A pool whose members of the store speak without encryption, as an early version began it, goes over by itself.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/pool.sh"
require_pool
make_nodes 3
for i in 1 2 3; do must "node $i starts" start_node $i; done
must "the second node comes" gi_on 1 peer probe "${ADDR[2]}"
must "the third node comes" gi_on 1 peer probe "${ADDR[3]}"
mkdir -p "$WORK/b1"
must "there is a volume" gi_on 1 volume create one "${ADDR[1]}:$WORK/b1/one" force
must "all members vote" within 30 all_vote

# ---- as it was once ----

urls() { store_on "$1" /v3/cluster/member/list '{}' | jq -r '.members[].peerURLs[]'; }
for i in 1 2 3; do
  id=$(store_on 1 /v3/cluster/member/list '{}' | jq -r --arg u "https://${ADDR[$i]}:24009" '.members[] | select(.peerURLs[0] == $u) | .ID')
  store_on 1 /v3/cluster/member/update "{\"ID\":\"$id\",\"peerURLs\":[\"http://${ADDR[$i]}:24009\"]}" >/dev/null
done
for i in 1 2 3; do signal_node KILL $i; done
sed -i 's,https://,http://,g; /^generation=/d; /^shown=/d; /^trusted=/d' "$WORK"/n[123]/pool
sed -i '/^key=/d' "$WORK"/n[123]/peers/*
must "the first node is back" start_node 1
must "and the second" start_node 2
ok "with two of three it changes" within 30 gi_on 1 volume set one user.a b
like "$(urls 1)" "^http://" "without encryption"
ok "as the log warns" grep -q "members of the store speak without encryption" "$WORK/n1/log/glusterishd.log"
nok "nobody goes over without the third" grep -q "is encrypted from now on" "$WORK"/n[12]/log/glusterishd.log

# ---- it goes over ----

must "the third node is back" start_node 3
own_encrypted() {
  local i
  for i in 1 2 3; do
    grep -q "=https://${ADDR[$i]}:24009" "$WORK/n$i/pool" || return 1
  done
  ! urls 1 | grep -q '^http:'
}
ok "all go over to encryption" within 60 own_encrypted
ok "it changes" within 30 gi_on 3 volume set one user.a c
known() { grep -qx user.a=c "$WORK/n$1/vols/one/info"; }
ok "everywhere" within 20 known 1
answers() { on 3 curl -s --http1.1 -m 5 -o /dev/null "$@" "http://${ADDR[1]}:24009/members"; }
nok "without encryption nobody is answered" answers
ok "all vote" within 20 all_vote
done_testing
