#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Several nodes go over to TLS while a volume is written to: one is away meanwhile, one comes later, and leaves again.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/pool.sh"
require_pool
require_fuse
make_nodes 3
for i in 1 2 3; do must "node $i starts" start_node $i; done
must "the second node comes" gi_on 1 peer probe "${ADDR[2]}"
mkdir -p "$WORK/b1" "$WORK/b2"
must "a volume over two nodes" gi_on 1 volume create v replica 2 "${ADDR[1]}:$WORK/b1/v" "${ADDR[2]}:$WORK/b2/v" force
must "is started" gi_on 1 volume start v
must "and mounted" mount_on 1 1 v "$WORK/m"

mode_on() { gi_on "$1" pool tls status | grep -qx "Management: $2"; }
linked() { gi_on "$1" pool tls status | grep -qx "Node $2: connected with TLS"; }
bricks_up() { [ "$(online_on 1)" = 2 ]; }
told() { grep -qE "$1" "$2"; }

# A line every moment, each of which must get there.
writer() {
  local n=0
  while [ ! -e "$WORK/enough" ]; do
    n=$((n + 1))
    echo "$n" >>"$WORK/m/lines" || echo "line $n" >>"$WORK/lost"
    sleep 0.02
  done
  echo "$n" >"$WORK/written"
}
writer 2>>"$WORK/lost" &
writer_pid=$!

# ---- on ----

kill -TERM "${NODE_PID[2]}"
within 10 not_running "${NODE_PID[2]}"
ok "TLS is switched on while a daemon is away" gi_on 1 pool tls enable
ok "both kinds are taken" mode_on 1 "with and without TLS"
must "the daemon is back" start_node 2
ok "and has its own key" within 20 test -f "$WORK/n2/tls/node.pem"
ok "and takes both kinds" within 5 mode_on 2 "with and without TLS"
ok "the nodes speak TLS with each other" within 20 linked 1 "${ADDR[2]}"
ok "in both directions" within 20 linked 2 "${ADDR[1]}"
is "$(stat -c %a "$WORK/n2/tls/node.pem" "$WORK/n2/tls/authority" | sort -u)" 600 "keys are for the daemon alone"
nok "and in no log" grep -rq "PRIVATE KEY" "$WORK/n1/log" "$WORK/n2/log"
nok "nor in the store" grep -aq "PRIVATE KEY" -r "$WORK/n1/store/data"

# ---- clients ----

dir=$(gi_on 2 pool tls client joe)
printf 'option ssl-own-cert %s/glusterfs.pem\noption ssl-private-key %s/glusterfs.key\noption ssl-ca-list %s/glusterfs.ca\n' \
  "$dir" "$dir" "$dir" >"$WORK/access-joe"
as_joe() { GLUSTERISH_SECURE_ACCESS=$WORK/access-joe "$@"; }
ok "a client gets its key on the second node" as_joe mount_on 1 2 v "$WORK/joe"
ok "and reads what the other one writes" within 10 test -s "$WORK/joe/lines"
ok "TLS is demanded" gi_on 2 pool tls require
ok "by all" within 10 mode_on 1 "with TLS only"
ok "the nodes are connected" within 20 bothways

listen_on 2 "$WORK/seen"
# A connection that was there before is made anew soon, not at once.
unheard() {
  local from
  from=$(stat -c %s "$WORK/seen")
  for i in $(seq 500); do echo "a word that nobody may hear"; done >"$WORK/joe/secret"
  sync "$WORK/joe/secret" && cmp -s "$WORK/b2/v/secret" "$WORK/b1/v/secret" && [ "$(stat -c %s "$WORK/seen")" -gt $((from + 14000)) ] &&
    ! tail -c "+$((from + 1))" "$WORK/seen" | grep -aq "nobody may hear"
}
ok "a secret is on the other node, and the network has heard something, but no word of it" within 30 unheard
kill "$LISTENER"

# ---- a new node ----

like "$(gi_on 1 peer probe "${ADDR[3]}" 2>&1)" "pool join" "a node without TLS is not told the secret of the pool"
token=$(gi_on 1 pool token)
ok "it joins with a token" gi_on 3 pool join "$token@${ADDR[1]}"
ok "and demands TLS too" within 10 mode_on 3 "with TLS only"
ok "it is connected in TLS" within 20 linked 3 "${ADDR[1]}"
ok "the others with it" within 20 linked 1 "${ADDR[3]}"
plain() { on 3 env GLUSTERISH_SECURE_ACCESS=/nonexistent timeout 20 "$GLUSTERISHFS" -s "${ADDR[1]}" --volfile-server-port 24007 --volfile-id v -l "$WORK/plain.log" "$WORK/plain"; }
mkdir -p "$WORK/plain"
nok "a plain client gets no volfile" plain
ok "as the log says" within 5 told "refused to .*: a plain client where TLS is demanded" "$WORK/n1/log/glusterishd.log"

# ---- keys are renewed, nodes leave ----

serial() { openssl x509 -in "$WORK/n$1/tls/node.pem" -noout -serial; }
old1=$(serial 1) old2=$(serial 2)
ok "new keys are made" gi_on 3 pool tls rotate
renewed() { [ "$(serial 1)" != "$old1" ] && [ "$(serial 2)" != "$old2" ]; }
ok "on every node" within 10 renewed
ok "which stay connected" within 20 linked 2 "${ADDR[1]}"

# What a node takes along that is not to be trusted any more: the key of the authority, and its own.
K=$WORK/kept
mkdir "$K"
cp "$WORK/n3/tls/node.pem" "$K/node.pem" && cp "$K/node.pem" "$K/node.key"
jq -r .key "$WORK/n3/tls/authority" >"$K/ca.key" && jq -r .certificate "$WORK/n3/tls/authority" >"$K/ca.pem"
# signs NAME: with the key that it took along
signs() {
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$1" -keyout "$K/$1.key" -out "$K/$1.csr" 2>/dev/null &&
    openssl x509 -req -in "$K/$1.csr" -CA "$K/ca.pem" -CAkey "$K/ca.key" -days 9 -out "$K/$1.pem" 2>/dev/null
}
# gets_in NAME PORT: whether the first node goes on with who shows that certificate
gets_in() { on 3 timeout 5 openssl s_client -quiet -verify_quiet -connect "${ADDR[1]}:$2" -cert "$K/$1.pem" -key "$K/$1.key" </dev/null 2>&1 | grep -c alert; }
port=$(gi_on 1 volume status v --json | jq -r --arg host "${ADDR[1]}" '[.. | objects | select(.port? and (.hostname? == $host))] | first | .port')
signs early
is "$(gets_in early 24007)$(gets_in early "$port")" 00 "while a node is of the pool what it signs gets in"
like "$(gi_on 1 peer detach "${ADDR[3]}")" "success.*pool tls rotate" "the third node leaves, and clients are to get new certificates"
ok "without its credentials" within 10 test ! -e "$WORK/n3/tls"
succeeded() { openssl x509 -in "$WORK/n$1/tls/node.pem" -noout -issuer | grep -q "glusterish pool 2"; }
ok "there is another authority" within 10 succeeded 1
ok "on every node" within 10 succeeded 2
signs late
for name in node early late; do
  is "$(gets_in $name 24007)$(gets_in $name "$port")" 11 "$name: what it took along gets in no more"
  refusal="its certificate \"$name\" is of a CA that was replaced: \"glusterish pool\" is trusted no more"
  ok "$name: as the daemon says" within 5 told "$refusal" "$WORK/n1/log/glusterishd.log"
  ok "$name: and the brick" within 5 told "$refusal" "$WORK/n1/log/bricks/"*.log
done
ok "the nodes stay connected" within 20 bothways
ok "in TLS" within 20 linked 1 "${ADDR[2]}"
ok "what the client has counts on" as_joe mount_on 1 2 v "$WORK/again"
ok "for what it writes" sh -c "echo again >'$WORK/again/again' && sync '$WORK/again/again' && cmp '$WORK/b1/v/again' '$WORK/b2/v/again'"
umount "$WORK/again"
named_before() { gi_on 2 pool tls status | grep -q "is of the authority before"; }
ok "and it is named" named_before
ok "it gets what trusts no other authority" gi_on 2 pool tls rotate
ok "with which it mounts" as_joe mount_on 1 1 v "$WORK/again"
ok "from both bricks" test -s "$WORK/again/lines"
umount "$WORK/again"
nok "and nothing is of the authority before" named_before

alone() { grep -q "volume v: bricks here take the new password alone" "$WORK/n$1/log/glusterishd.log"; }
ok "bricks take the new password alone" within 60 alone 1
ok "of both nodes" within 10 alone 2
# The first mount has no credentials, and hears nothing of the daemon any more.
deaf=$(pgrep -f -- "-l $WORK/mount-m.log")
is_told() { cat "$WORK"/n"$1"/log/bricks/*.log | grep "is trusted no more: its user" | grep -q "PID:$deaf-"; }
for i in 1 2; do ok "node $i: a mount that cannot hear of it is a client as others from then on" within 10 is_told $i; done
is "$(cat "$WORK"/n[12]/log/bricks/*.log | grep "is trusted no more: its user" | grep -v "PID:$deaf-")" "" "and whatever else runs on a node has shown it"

# ---- off ----

umount "$WORK/joe"
ok "the members of the store have gone over to the new secret" within 60 gone_over 2
ok "TLS is switched off" gi_on 1 pool tls disable
ok "everywhere" within 10 mode_on 2 "without TLS"
ok "the nodes stay connected" within 20 bothways
ok "all bricks are online" within 20 bricks_up
touch "$WORK/enough"
wait "$writer_pid"
is "$(cat "$WORK/lost")" "" "no write has failed meanwhile"
is "$(wc -l <"$WORK/m/lines")" "$(cat "$WORK/written")" "and every line is there"
done_testing
