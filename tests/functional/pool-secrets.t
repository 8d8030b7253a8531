#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The secret of a pool: nobody overhears it, and a node that was detached finds every door closed with the one that it knows.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/pool.sh"
require_pool
require_fuse
make_nodes 3
for i in 1 2 3; do must "node $i starts" start_node $i; done
secret() { sed -n 's/^secret=//p' "$WORK/n$1/pool"; }
uuid() { sed -n 's/^UUID=//p' "$WORK/n$1/glusterd.info"; }
log() { cat "$WORK/n$1/log/glusterishd.log"; }

# ---- whoever listens ----

listen_on 1 "$WORK/heard"
must "the second node comes" gi_on 1 peer probe "${ADDR[2]}"
heard() { grep -aq "$1" "$WORK/heard"; }
ok "somebody hears the invitation" within 10 heard '"sealed"'
nok "and not the secret" grep -aqF "$(secret 1)" "$WORK/heard"
is "$(secret 2)" "$(secret 1)" "which the new node knows"
kill "$LISTENER"
token=$(gi_on 2 pool token)
must "the third node joins with a token" gi_on 3 pool join "$token@${ADDR[2]}"
is "$(secret 3)" "$(secret 1)" "and knows it, too"
ok "all members vote" within 20 all_vote
ok "all are connected" within 10 all_connected

# ---- a node is detached while another one is away ----

old=$(secret 3) gone=$(uuid 3)
mkdir "$WORK/kept" && cp "$WORK/n3/store/ca.pem" "$WORK/n3/store/peer.pem" "$WORK/kept/"
# The store as its members ask each other, by who has kept a certificate for it.
peer_says() { [ "$(on 3 curl -sk --http1.1 -m 5 -o "$WORK/peer.out" -w '%{http_code}' --cert "$WORK/kept/peer.pem" "https://${ADDR[1]}:24009/members")" = 200 ]; }
ok "it has a certificate that opens the store" peer_says
kill -TERM "${NODE_PID[2]}" && within 10 not_running "${NODE_PID[2]}"
must "the third node is detached" gi_on 1 peer detach "${ADDR[3]}"
changed() { [ -n "$(secret "$1")" ] && [ "$(secret "$1")" != "$old" ]; }
ok "the first one has another secret" within 5 changed 1
must "the second one is back" start_node 2
same() { [ "$(secret 1)" = "$(secret 2)" ] && changed 2; }
ok "and has it, too" within 20 same
ok "they are connected" within 20 bothways
mkdir -p "$WORK/b2"
ok "a change goes through on the one that was away" within 20 gi_on 2 volume create v "${ADDR[2]}:$WORK/b2/v" force
ok "and is known to the other one" within 10 knows 1 v

# ---- what it knows is worth nothing ----

on 3 timeout 20 python3 "$(dirname "$0")/detached.py" "${ADDR[1]}" "$gone" "$(uuid 2)" "$old" 0 >"$WORK/tried" 2>&1
is "$(grep -v '^document' "$WORK/tried")" "prove the secret of the pool is another one
prove as another the secret of the pool is another one
store unavailable
order unavailable
settle unavailable
credentials unavailable
invite it is part of a pool, or has volumes
join the token is wrong, was used, or has expired
secret own no entry for it of 1
secret other no entry for it of 1" "every door is closed to the node that was detached"
nok "nor is it told the secret" grep -qF "$(secret 1)" "$WORK/tried"
named() { log 1 | grep -qE "$1"; }
ok "the log names it" named "${ADDR[3]}:[0-9]+ says it is node $gone and knows an earlier secret"
ok "and whom it pretends to be" named "${ADDR[3]}:[0-9]+ says it is node $(uuid 2) and knows an earlier secret"
ok "and that it is told" named "node $gone at ${ADDR[3]}:[0-9]+, which was detached"
on 3 timeout 20 python3 "$(dirname "$0")/detached.py" "${ADDR[1]}" "$gone" "$(uuid 2)" "$(printf '0%.0s' $(seq 64))" 0 >"$WORK/tried" 2>&1
like "$(head -n 1 "$WORK/tried")" "another one" "a secret that never was one is none"

# The members of the store have gone over to the new secret, too.
ok "the members of the store go over, too" within 60 gone_over 2
nok "the certificate that it kept opens the store no more" peer_says
ok "which goes on" within 10 gi_on 2 volume set v user.a b

# ---- it comes again ----

ok "taken in anew it is a node as others" within 20 gi_on 2 peer probe "${ADDR[3]}"
is "$(secret 3)" "$(secret 1)" "with the new secret"
ok "all are connected" within 20 all_connected

# ---- passwords of volumes ----

must "a volume is started" gi_on 2 volume start v
must "that lets in nobody but nodes" gi_on 2 volume set v auth.allow 192.0.2.1
must "one of which mounts it" mount_on 1 1 v "$WORK/m"
port=$(gi_on 2 volume status v --json | jq -r '[.. | objects | select(.port?) | .port] | first')
gi_on 3 system:: getspec v | sed "s/^ *option remote-subvolume/    option remote-port $port\n&/" >"$WORK/kept.vol"
like "$(cat "$WORK/kept.vol")" "option password" "a node knows the password"
# stranger NAME: mounts with what that node has kept
stranger() { mkdir -p "$WORK/$1" && MOUNTS+=("$WORK/$1") && on 3 timeout 20 "$GLUSTERISHFS" -f "$WORK/kept.vol" -l "$WORK/$1.log" "$WORK/$1" && within 10 test -e "$WORK/$1/file"; }
echo text >"$WORK/m/file"
ok "and mounts with it" stranger early
writer() {
  while [ ! -e "$WORK/enough" ]; do
    echo x >>"$WORK/m/lines" || echo failed >>"$WORK/lost"
    sleep 0.05
  done
}
writer 2>>"$WORK/lost" &
writer_pid=$!
ok "it leaves" gi_on 1 peer detach "${ADDR[3]}"
alone() { log "$1" | grep -q "volume v: bricks here take the new password alone"; }
ok "after a while the old password is good for nothing" within 60 alone 2
shown_out() { grep -q "is shown the door" "$WORK/n2/log/bricks/"*.log; }
ok "whoever came with it is shown the door" within 15 shown_out
nok "and does not get in again" stranger late
touch "$WORK/enough"
wait "$writer_pid"
is "$(cat "$WORK/lost" 2>/dev/null)" "" "the node that stayed has noticed nothing"
is "$(grep -c "connected to ${ADDR[2]}" "$WORK/mount-m.log")" 1 "not even a connection that was made anew"
done_testing
