#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The whole life of a volume: create, start, set, status, crash of a brick, restart of the daemon, stop, delete.
. "$(dirname "$0")/lib.sh"
require_root

start_glusterishd || exit 1
pass "the daemon starts"
B=$WORK/bricks
mkdir -p "$B"
bricks() { echo "$HOST:$B/1 $HOST:$B/2 $HOST:$B/3"; }
online() { gi --xml volume status "$1" | sed -n '/<path>\//,/<status>/p' | grep -c '<status>1</status>'; } # bricks
online_is() { [ "$(online v)" = "$1" ]; }

# ---- before there is a volume ----
is "$(gi volume list 2>&1)" "No volumes present in cluster" "no volume is listed"
is "$(gi peer status)" "Number of Peers: 0" "the pool is one node"
like "$(gi pool list)" 'localhost.Connected ' "which is connected"
nok "another daemon on the same directory is refused" timeout 10 "$GLUSTERISHD" -N --working-directory "$WORK/d" --port 0
nok "an unknown volume cannot be started" gi volume start nosuch

# ---- create ----
# shellcheck disable=SC2046
{
  like "$(gi volume create v replica 3 $(bricks) 2>&1)" "same server.*Use 'force'" "replicas on one server want force"
  is "$(ls "$B")" "" "a refused create leaves no directory"
  ok "a volume is created" gi volume create v replica 3 $(bricks) force
  like "$(gi volume create v replica 3 $(bricks) force 2>&1)" 'volume create: v: failed: Volume v already exists' "but only once"
}
like "$(gi volume create w "$HOST:$B/1/sub" force 2>&1)" 'may be containing or be contained' "a brick cannot be inside another"
like "$(gi volume create w "$HOST:$WORK/d/x" force 2>&1)" "inside glusterd's working directory" "nor in the daemon's directory"
like "$(gi volume create w replica 2 "$HOST:$B/a" "$HOST:$B/b" "$HOST:$B/c" force 2>&1)" 'not a multiple of replica count' "a set that is not whole is refused"
like "$(gi volume create w nosuch.invalid:/x/y force 2>&1)" "not in 'Peer in Cluster' state" "an unknown host is refused"
is "$(getfattr --absolute-names -n trusted.glusterfs.volume-id -e hex "$B/1" 2>/dev/null | sed -n 's/.*=0x//p')" \
  "$(gi volume info v | sed -n 's/^Volume ID: //p' | tr -d -)" "the bricks carry the volume's id"
like "$(gi volume info v)" '^Number of Bricks: 1 x 3 = 3$' "info tells the shape"
like "$(gi volume info v)" '^Status: Created$' "and that it was not started"
like "$(gi volume status v 2>&1)" 'Volume v is not started' "status says so too"

# ---- options ----
like "$(gi volume set v no.such on 2>&1)" 'option : no.such does not exist' "an unknown option is refused"
like "$(gi volume set v performance.write-behnd on 2>&1)" 'Did you mean performance.write-behind' "with a hint"
nok "a bad value is refused" gi volume set v performance.write-behind perhaps
nok "one bad pair refuses all" gi volume set v user.a b performance.write-behind perhaps
nok "so that nothing changed" grep -q '^user.a='  "$WORK/d/vols/v/info"
ok "an option is set" gi volume set v network.ping-timeout 17
is "$(gi volume get v network.ping-timeout | tail -n 1 | awk '{print $2}')" "17" "and read back"
like "$(gi system:: getspec v)" 'option ping-timeout 17' "and is in the volfile"
ok "it is reset" gi volume reset v network.ping-timeout
like "$(gi volume get v network.ping-timeout)" '42 \(DEFAULT\)' "to its default"

# ---- start ----
must "the volume starts" gi volume start v
like "$(gi volume start v 2>&1)" 'Volume v already started' "only once"
is "$(online v)" 3 "three bricks are online"
like "$(gi volume status v)" "^Brick $HOST:.* Y +[0-9]+ *\$|^.* Y +[0-9]+ *\$" "and status shows it"
like "$(gi volume status v detail)" '^Total Disk Space +: [0-9.]+[KMGTP]B' "in detail"
like "$(gi volume status v clients)" '^Clients connected : [0-9]+$' "and what its bricks know"
like "$(gi volume status v mem)" '^Arena    : [0-9]+$' "and how much memory they have"
like "$(gi volume delete v 2>&1)" 'has been started.Volume needs to be stopped' "a started volume is not deleted"

# ---- a brick dies ----
victim=$(brick_pid v "$B/2")
kill -9 "$victim"
ok "the death of a brick is noticed" within 10 online_is 2
like "$(gi volume status v "$HOST:$B/2")" 'N/A +N/A +N +N/A' "its row says offline"
ok "start force starts it again" gi volume start v force
is "$(online v)" 3 "three bricks are online again"
is "$(ps -o sess= -p "$(brick_pid v "$B/2")")" "$(ps -o sess= -p "$DAEMON_PID")" "in the daemon's session, so that priorities count"
is "$(ps -L -o nice= -p "$(brick_pid v "$B/2")" | sort -u | tr -d ' ')" "$(ps -o nice= -p "$DAEMON_PID" | tr -d ' ')" "and not nice any more"

# ---- an administrator ends a brick ----
victim=$(brick_pid v "$B/2")
ok "a brick is asked to end" kill "$victim"
ok "it signs out" within 10 online_is 2
usual=$(ps -o nice= -p "$DAEMON_PID" | tr -d ' ')
renice -n 15 -p "$DAEMON_PID" >/dev/null
ok "start force waits for its end" gi volume start v force
is "$(ps -o nice= -p "$(brick_pid v "$B/2")" | tr -d ' ')" 15 "it is as nice as the daemon, and no less"
renice -n "$usual" -p "$DAEMON_PID" >/dev/null
ok "a new one runs" test "$(brick_pid v "$B/2")" != "$victim"
is "$(online v)" 3 "three bricks are online"

# ---- the daemon goes and comes ----
before=$(brick_pid v "$B/1")
stop_glusterishd
ok "bricks outlive the daemon" kill -0 "$before"
like "$(gi volume list)" 'Connection failed. Please check if gluster daemon is operational' "the tool says that there is no daemon"
kill -9 "$(brick_pid v "$B/3")"
ok "the daemon starts again" start_glusterishd
ok "all bricks are online again" within 20 online_is 3
is "$(brick_pid v "$B/1")" "$before" "the running one was taken over"

# ---- hostile input ----
for i in 1 2 3; do
  head -c 4096 /dev/urandom | timeout 2 bash -c "cat > /dev/tcp/$HOST/$PORT" 2>/dev/null
  printf '\x80\x00\x00\x28\x00\x00\x00\x0%s\x00\x00\x00\x00\x00\x00\x00\x02\x00\xdb\xb6\xff\x00\x00\x00\x02' "$i" |
    timeout 2 bash -c "cat > /dev/tcp/$HOST/$PORT" 2>/dev/null
done
ok "garbage does not disturb the daemon" gi volume info v

# ---- stop, delete ----
ok "the volume stops" gi volume stop v
ok "its bricks are gone" within 5 not_running "$before"
like "$(gi volume stop v 2>&1)" 'Volume v is not in the started state' "it is stopped once"
ok "it starts and stops again" gi volume start v
ok "with force" gi volume stop v force
ok "the volume is deleted" gi volume delete v
is "$(gi volume list 2>&1)" "No volumes present in cluster" "no volume is left"
like "$(gi volume create w "$HOST:$B/1" 2>&1)" 'root partition|already part of a volume' "its brick is not taken by accident"
ok "but with force" gi volume create w "$HOST:$B/1" force
like "$(tail -n 1 "$WORK/d/log/cmd_history.log")" '^\[.* \+0000\]  : volume create w .* : SUCCESS$' "the history knows"
done_testing
