#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# auth.client-key: machines with a key of the volume mount it, others do not, and one whose key is removed is refused at once.
NET=10.$((200 + RANDOM % 14)).$((RANDOM % 250))
HOST=$NET.1
. "$(dirname "$0")/lib.sh"
require_root
require_fuse
command -v nsenter >/dev/null && command -v ip >/dev/null || skip_all "needs ip and nsenter"

# Three machines that are not the daemon's, each with an address of its own.
machines() {
  local i
  ip link add "gk$$" type bridge 2>/dev/null && ip addr add "$NET.1/24" dev "gk$$" && ip link set "gk$$" up || return 1
  for i in 1 2 3; do
    ip netns add "gk$$n$i" && ip link add "gk$$v$i" type veth peer name eth0 netns "gk$$n$i" || return 1
    ip link set "gk$$v$i" master "gk$$" up
    ip -n "gk$$n$i" addr add "$NET.1$i/24" dev eth0 && ip -n "gk$$n$i" link set eth0 up
  done
}
go() {
  local i
  for i in 1 2 3; do
    umount -l "$WORK/m$i" 2>/dev/null
    ip netns pids "gk$$n$i" 2>/dev/null | xargs -r kill -KILL
    ip netns del "gk$$n$i" 2>/dev/null
  done
  ip link del "gk$$" 2>/dev/null
}
trap 'status=$?; go; (exit $status); cleanup' EXIT
machines || skip_all "needs network namespaces and a bridge"
at() {
  local n=$1
  shift
  nsenter --net="/run/netns/gk$$n$n" "$@"
}
# mount_at N [KEY]: machine N mounts the volume with that key.
mount_at() {
  mkdir -p "$WORK/m$1"
  at "$1" timeout 30 "$GLUSTERISHFS" -s "$HOST" --volfile-server-port "$PORT" --volfile-id v -l "$WORK/m$1.log" ${2:+--client-key="$WORK/$2"} \
    "$WORK/m$1"
}
said() { mount_at "$@" 2>&1; }
refused_now() { ! timeout 10 stat "$WORK/m$1/f" >/dev/null 2>&1; }
brick_says() { grep -qE "$1" "$WORK"/d/log/bricks/*.log; }

must "the daemon starts" start_glusterishd
must "a volume is started" start_volume v 3
ok "a key is made for the first machine" gi volume key v add one "$WORK/one.key"
is "$(stat -c %a "$WORK/one.key")" 600 "which nobody else can read"
ok "the second machine makes its own" openssl genpkey -algorithm ed25519 -out "$WORK/two.key"
openssl pkey -in "$WORK/two.key" -pubout -out "$WORK/two.pub"
ok "of which the volume is told the public half" gi volume key v add two "$WORK/two.pub"
ok "and a stranger makes himself one" openssl genpkey -algorithm ed25519 -out "$WORK/stranger.key"
like "$(gi volume key v list)" '^two  *[0-9A-F]{64}$' "the keys are listed"
like "$(gi volume key v list)" "auth.client-key is off" "and that none is demanded yet"
like "$(gi volume key v add two "$WORK/stranger.key" 2>&1)" "there is a key two already" "a name is given once"
like "$(gi volume key v add three "$WORK/two.pub" 2>&1)" "the key is there already, as two" "and a key"
like "$(gi volume set v auth.client-keys nonsense 2>&1)" "it is no list of NAME:KEY" "what is no list is no value"

# ---- who gets in ----

must "the first machine mounts with its key, before it is demanded" mount_at 1 one.key
ok "and writes" sh -c 'echo hello >"$0/f"' "$WORK/m1"
must "the third one without" mount_at 3
ok "keys are demanded" gi volume set v auth.client-key on
ok "who has shown one is not disturbed" sh -c 'echo again >>"$0/f" && grep -q hello "$0/f"' "$WORK/m1"
ok "who has none is refused at once" within 5 refused_now 3
ok "and the brick says why" within 5 brick_says 'auth.client-key is on, and the client shows no key'
umount -l "$WORK/m3"
like "$(said 3)" "the volume takes only clients with a key \(mount option client-key=FILE\)" "without a key nobody mounts"
like "$(said 3 stranger.key)" "the volume does not take this client's key" "nor with a key of one's own making"
like "$(said 3 two.pub)" "it has no private key of Ed25519" "nor with the public half of another one"
cp "$WORK/two.key" "$WORK/open.key" && chmod 644 "$WORK/open.key"
like "$(said 3 open.key)" "others can use it \(mode 0644\): chmod 600" "nor with one that others can read"
like "$(said 3 none.key)" "client key .*none.key: No such file" "nor without the file"
ok "the daemon tells of it" grep -q "the volfile of v is refused to $NET.13:.*is none of the volume's" "$WORK/d/log/glusterishd.log"
must "the second machine mounts with its key" mount_at 2 two.key
is "$(cat "$WORK/m2/f")" "hello
again" "and reads what the first one wrote"
must "root of the node itself needs none" mount_volume v "$WORK/own"
ok "the self-heal daemon neither" within 20 sh -c '"$0" --mode=script "--glusterd-sock=$1" volume heal v info summary | grep -c "Status: Connected" | grep -qx 3' \
  "$GLUSTERISH" "$SOCK"
# Whoever got a volfile in another way is refused by the bricks.
gi system:: getspec v | grep -vE 'option (username|password) ' >"$WORK/v.vol"
at 3 timeout 30 "$GLUSTERISHFS" -f "$WORK/v.vol" -l "$WORK/m3.log" "$WORK/m3" 2>/dev/null
ok "with a volfile alone nobody gets at the bricks" refused_now 3
like "$(cat "$WORK/m3.log")" "refused SETVOLUME: auth.client-key is on, and the client shows no key" "which its log says"
umount -l "$WORK/m3" 2>/dev/null
nok "the private halves are nowhere on the servers" grep -rqF "$(sed -n 2p "$WORK/two.key")" "$WORK/d"

# ---- GlusterFS ----

if command -v glusterfs >/dev/null; then
  at 3 timeout 30 glusterfs -s "$HOST" --volfile-server-port "$PORT" --volfile-id v -l "$WORK/glusterfs.log" "$WORK/m3" >/dev/null 2>&1
  nok "a client of GlusterFS does not mount" mountpoint -q "$WORK/m3"
  note "$(grep ' E ' "$WORK/glusterfs.log" | head -n 5)"
  like "$(cat "$WORK/glusterfs.log")" "failed to (fetch|get) (volume file|the 'volume file')" "its log says that it gets no volfile"
  brick=$(echo "$WORK"/d/vols/v/bricks/*v-1)
  printf 'volume c\n type protocol/client\n option remote-host %s\n option remote-port %s\n option remote-subvolume %s\nend-volume\n' \
    "$HOST" "$(sed -n 's/^listen-port=//p' "$brick")" "$(sed -n 's/^path=//p' "$brick")" >"$WORK/one.vol"
  at 3 timeout 20 glusterfs -f "$WORK/one.vol" -l "$WORK/glusterfs2.log" "$WORK/m3" >/dev/null 2>&1
  ok "and its log why a brick refuses it" within 10 grep -q "auth.client-key is on, and the client shows no key" "$WORK/glusterfs2.log"
  umount -l "$WORK/m3" 2>/dev/null
fi

# ---- taken back ----

like "$(gi volume key v remove nobody 2>&1)" "there is no key nobody" "only a key that is there can be removed"
ok "the second machine's key is removed" gi volume key v remove two
ok "its mount is refused at once" within 5 refused_now 2
ok "which the brick tells" within 5 brick_says 'its key was removed'
ok "the first one goes on" grep -q hello "$WORK/m1/f"
umount -l "$WORK/m2"
like "$(said 2 two.key)" "the volume does not take this client's key" "and does not mount again"
ok "the key comes back" gi volume key v add two "$WORK/two.pub"
ok "and mounts" mount_at 2 two.key
ok "all keys go" sh -c 'for k in one two; do "$0" --mode=script "--glusterd-sock=$1" volume key v remove $k || exit 1; done' "$GLUSTERISH" "$SOCK"
ok "and nobody is let in then" within 5 refused_now 1
like "$(gi --xml volume key v list)" "<volKeys/>" "none is listed"
done_testing
