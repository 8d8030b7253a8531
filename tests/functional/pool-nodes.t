#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Nodes come and go: with a token, with volumes that stay, refused with a reason; bricks move from node to node.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/pool.sh"
require_pool
require_fuse
make_nodes 3
for i in 1 2 3; do must "node $i starts" start_node $i; done
brick() { mkdir -p "$WORK/b$1" && echo "${ADDR[$1]}:$WORK/b$1/$2"; }

# A brick that could be made on one node, when the other one's could not, is as it was.
marks_gone() {
  mkdir -p "$WORK/b1/part" "$WORK/b3/part" && setfattr -n trusted.glusterfs.volume-id -v 0x11111111111111111111111111111111 "$WORK/b3/part"
  gi_on 1 volume create part replica 2 "${ADDR[1]}:$WORK/b1/part" "${ADDR[3]}:$WORK/b3/part/in" force && return 1
  ! getfattr --absolute-names -n trusted.glusterfs.volume-id "$WORK/b1/part" 2>/dev/null
}

# ---- who may not come ----

ok "the first node has a volume" gi_on 1 volume create mine "$(brick 1 mine)" force
ok "and the second one a volume of that name" gi_on 2 volume create mine "$(brick 2 mine)" force
like "$(gi_on 1 peer probe "${ADDR[2]}" 2>&1)" "At least one volume on ${ADDR[2]} conflicts with existing volumes" "which is refused"
gi_on 2 volume delete mine >/dev/null
ok "a volume of another name" gi_on 2 volume create other "$(brick 2 other)" force
like "$(gi_on 1 peer probe "${ADDR[2]}" 2>&1)" "already part of another cluster or having volumes configured" "is refused too"
gi_on 2 volume delete other >/dev/null
signal_node TERM 2
within 10 not_running "${NODE_PID[2]}"
INVITATIONS=
must "a node starts to which nothing is said of invitations" start_node 2
unset INVITATIONS
like "$(gi_on 1 peer probe "${ADDR[2]}" 2>&1)" "it takes no invitations" "and is not taken in"
like "$(gi_on 1 peer probe "$POOL_NET.77" 2>&1)" 'failed: Probe returned with Transport endpoint is not connected' "nobody is there"
like "$(gi_on 1 peer detach "${ADDR[2]}" 2>&1)" "${ADDR[2]} is not part of cluster" "nobody leaves who is not there"
is "$(find "$WORK/n1/peers" "$WORK/n1/pool" -type f 2>/dev/null)" "" "the first node is alone"

# ---- a token ----

token=$(gi_on 1 pool token)
like "$token" '^[0-9a-f]{32}$' "a token"
like "$(gi_on 2 pool join "00000000000000000000000000000000@${ADDR[1]}" 2>&1)" "the token is wrong" "another one does not do"
must "joins a node" gi_on 2 pool join "$token@${ADDR[1]}"
like "$(gi_on 3 pool join "$token@${ADDR[1]}" 2>&1)" "the token is wrong, was used, or has expired" "once"
ok "the volume is known to the new one" within 10 knows 2 mine
ok "both are connected" within 10 bothways
nok "the secret is no word of the history" grep -q "$token" "$WORK/n2/log/cmd_history.log"

# ---- two nodes: a voter and a learner ----

ok "the second node stops" signal_node TERM 2
ok "a change works while the learner is away" within 10 gi_on 1 volume set mine user.a b
must "it comes back" start_node 2
ok "and knows of it" within 15 grep -qx user.a=b "$WORK/n2/vols/mine/info"
ok "it makes changes itself" within 10 gi_on 2 volume set mine user.a c
is "$(voters 1)" 1 "one member of the store votes"
ok "the first node, which votes, stops" signal_node TERM 1
start=$SECONDS
like "$(gi_on 2 volume set mine user.a no 2>&1)" "no majority|not reachable" "without it nothing can be changed, which is told"
ok "soon" test $((SECONDS - start)) -le 20
ok "what only shows goes on" gi_on 2 volume info mine
must "it comes back" start_node 1
ok "and the second one makes changes again" within 20 gi_on 2 volume set mine user.a c

# ---- a clone ----

mkdir -p "$WORK/n3x" && mv "$WORK/n3/glusterd.info" "$WORK/n3x/" && cp "$WORK/n1/glusterd.info" "$WORK/n3/"
signal_node KILL 3
must "a clone of the first node starts" start_node 3
like "$(gi_on 1 peer probe "${ADDR[3]}" 2>&1)" "Peer uuid \(host ${ADDR[3]}\) is same as local uuid" "and is refused"
signal_node KILL 3
cp "$WORK/n3x/glusterd.info" "$WORK/n3/"
must "the third node starts as itself" start_node 3
must "and comes" gi_on 2 peer probe "${ADDR[3]}"
ok "all vote" within 20 all_vote

# ---- bricks on whatever node ----

must "a volume over two nodes" gi_on 3 volume create two replica 2 "$(brick 1 two)" "$(brick 2 two)" force
must "is started" gi_on 3 volume start two
like "$(gi_on 3 volume create same replica 2 "$(brick 1 s1)" "$(brick 1 s2)" 2>&1)" "Multiple bricks of a replicate volume" \
  "two copies on one node need force"
like "$(gi_on 1 volume create away replica 2 "$(brick 1 a)" "$POOL_NET.77:/b" 2>&1)" "is not in 'Peer in Cluster' state" "nor on a stranger"
must "it is mounted" mount_on 3 3 two "$WORK/m"
ok "a file is written" dd if=/dev/urandom of="$WORK/m/file" bs=64k count=8 status=none conv=fsync
ok "a third copy is added on the third node" gi_on 1 volume add-brick two replica 3 "$(brick 3 two)" force
ok "and gets the file" within 60 cmp -s "$WORK/b1/two/file" "$WORK/b3/two/file"
ok "the second copy moves to another directory" gi_on 3 volume replace-brick two "$(brick 2 two)" "$(brick 2 new)" commit force
ok "and gets the file there" within 60 cmp -s "$WORK/b1/two/file" "$WORK/b2/new/file"
ok "a copy is removed" gi_on 2 volume remove-brick two replica 2 "$(brick 3 two)" force
no_brick_of_two() { ! compgen -G "$WORK/n3/run/vols/two/*.pid"; }
ok "its process ends" within 20 no_brick_of_two
is "$(cmp "$WORK/m/file" "$WORK/b1/two/file" && echo same)" same "the mount reads"
ok "a failed create leaves no mark" marks_gone
umount "$WORK/m"
gi_on 1 volume stop two >/dev/null && gi_on 1 volume delete two >/dev/null

# ---- strangers ----

cat >"$WORK/stranger.py" <<'PY'
import socket, struct, sys
# stranger.py HOST PROCEDURE TEXT: a call of the program between nodes from somebody who is none; prints what came of it.
host, proc, text = sys.argv[1], int(sys.argv[2]), sys.argv[3].encode()
call = struct.pack(">IIIIIIIIII", 7, 0, 2, 0x676c6e64, 1, proc, 0, 0, 0, 0) + struct.pack(">I", len(text)) + text + b"\0" * (-len(text) % 4)
s = socket.create_connection((host, 24007), 10)
s.sendall(struct.pack(">I", len(call) | 0x80000000) + call)
r = s.recv(65536)
print({0: r[32:].rstrip(b"\0").decode("latin-1"), 3: "unavailable", 4: "garbage"}.get(struct.unpack(">I", r[24:28])[0]))
PY
stranger() { on 3 timeout 10 python3 "$WORK/stranger.py" "${ADDR[1]}" "$@"; }
is "$(stranger 3 '{"call":"store","path":"/v3/kv/range","body":"{}"}')" unavailable "a stranger does not get at the store"
is "$(stranger 3 '{"call":"run","request":{"command":"node leave"},"proc":0}')" unavailable "nor does it give orders"
like "$(stranger 2 '{"uuid":"12345678-1234-4234-8234-123456789abc","nonce":"a","mac":"b"}')" "secret of the pool is another" "without the secret"
like "$(stranger 4 '{"pool":"12345678-1234-4234-8234-123456789abc"}')" "part of a pool" "it invites nobody who is in a pool"
like "$(stranger 5 '{"uuid":"12345678-1234-4234-8234-123456789abc","nonce":"a","mac":"b"}')" "token is wrong" "and does not join without a token"
is "$(stranger 2 'no json')" garbage "what is no JSON is told so"
ok "the log names the refusals" grep -q "a call between nodes is refused" "$WORK/n1/log/glusterishd.log"

# ---- strangers at the store ----

# peer_says WORDS...: node 3 asks the store of the first node as its members ask each other; true if it is answered.
peer_says() { [ "$(on 3 curl -s --http1.1 -m 5 -o "$WORK/peer.out" -w '%{http_code}' "$@")" = 200 ]; }
peer=${ADDR[1]}:24009
ok "a member of the store answers a member" peer_says --cacert "$WORK/n3/store/ca.pem" --cert "$WORK/n3/store/peer.pem" "https://$peer/members"
nok "without TLS nobody is answered" peer_says "http://$peer/members"
nok "nor without a certificate" peer_says -k "https://$peer/members"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=node" -days 9 \
  -keyout "$WORK/self.pem" -out "$WORK/self.crt" 2>/dev/null
cat "$WORK/self.crt" >>"$WORK/self.pem"
nok "nor with one of its own making" peer_says -k --cert "$WORK/self.pem" "https://$peer/members"
nok "nor can it write" peer_says -k --cert "$WORK/self.pem" --data-binary x "https://$peer/raft"
is "$(stat -c '%a' "$WORK/n1/store/peer.pem")" 600 "the key is for the store alone"
# bears KIND: what strangers.py does to it; who belongs there is answered meanwhile, and its memory is bounded.
bears() {
  local said
  said=$(on 3 python3 "$(dirname "$0")/strangers.py" "$1" "${ADDR[1]}" 24009 "$(cat "$WORK/n1/run/store.pid")" \
    "curl -sf --http1.1 -m 20 --cacert '$WORK/n3/store/ca.pem' --cert '$WORK/n3/store/peer.pem' 'https://$peer/members'" 2>&1)
  note "$said"
  grep -q '^[0-9]* status 0:' <<<"$said" && [ "$(tail -n 1 <<<"$said" | awk '{print $1 + 0}')" -lt 200 ]
}
ok "thousands that say nothing are borne" bears idle
ok "and garbage" bears flood
ok "it goes on" within 10 gi_on 1 volume set mine user.a still

# ---- nodes leave ----

ok "the second node leaves" gi_on 1 peer detach "${ADDR[2]}"
alone() { [ "$(gi_on "$1" pool list | wc -l)" = 2 ]; }
ok "and is alone" within 10 alone 2
is "$(gi_on 2 volume list 2>&1)" "No volumes present in cluster" "without volumes"
ok "the others go on" within 10 gi_on 3 volume set mine user.a d
must "it comes again" within 10 gi_on 3 peer probe "${ADDR[2]}"
signal_node KILL 2
ok "and is detached while it is down" within 15 gi_on 1 peer detach "${ADDR[2]}" force
must "it starts" start_node 2
ok "and finds out that it is alone" within 20 alone 2
ok "the third one leaves" gi_on 1 peer detach "${ADDR[3]}"
is "$(gi_on 1 peer status)" "Number of Peers: 0" "the first one is alone"
ok "with its volume" gi_on 1 volume set mine user.a e
ok "and no store" within 20 test ! -e "$WORK/n1/store"
like "$(cat "$WORK/n1/vols/mine/info")" '^user.a=e$' "but its files"
done_testing
