#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every process answers questions about itself on a unix socket, and on TCP if it is told to.
. "$(dirname "$0")/lib.sh"
require_root
require_fuse
command -v curl >/dev/null && command -v jq >/dev/null || skip_all "needs curl and jq"
start_glusterishd --observe=0
must "a volume starts" start_volume seen 2
must "it is mounted" mount_volume seen "$WORK/mnt" --observe="$HOST:0"
O=$WORK/observe

# socket ROLE [PATTERN]: the socket of a process.
socket() { find "$O" -name "$1-${2:-*}.socket" | sort | head -n 1; }
# ask SOCKET PATH
ask() { curl -s --max-time 20 --unix-socket "$1" "http://localhost$2"; }

is "$(stat -c %a "$O")" 700 "nobody else may look into the directory of the sockets"
is "$(find "$O" -name '*.socket' ! -perm 600)" "" "nor use a socket"
has_shd() { [ -S "$(socket shd)" ]; }
within 10 has_shd
for role in glusterishd brick shd client; do
  s=$(socket "$role")
  is "$(ask "$s" /process | jq -r '.role + " " + (.pid | tostring)')" "$role $(grep -oE '[0-9]+\.socket$' <<<"$s" | cut -d. -f1)" \
    "the process of role $role says who it is"
  like "$(ask "$s" /statedump)" '^\[mallinfo\]' "and shows its state"
  like "$(ask "$s" /metrics)" '^glusterish_process_open_fds\{process="'"$role" "and its metrics"
done
is "$(for role in brick shd client; do ask "$(socket $role)" /process | jq -r .volume; done | sort -u)" seen "all know their volume"
is "$(ask "$(socket client)" /process | jq -r .mountpoint)" "$WORK/mnt" "a client tells where it is mounted"
like "$(ask "$(socket brick)" /process | jq -r .brick)" "^$WORK/bricks/seen-[12]\$" "a brick tells its path"
is "$(ask "$(socket client)" /graph | jq -r '.layers[0].type, ([.layers[] | select(.type == "protocol/client")] | length)' | xargs)" \
  "mount/fuse 2" "a client shows its graph"
password=$(sed -n 's/^password=//p' "$WORK/d/vols/seen/info")
like "$password" . "the volume has a password"
is "$(for s in "$O"/*.socket; do ask "$s" /graph; ask "$s" /statedump; ask "$s" /metrics; done | grep -cF "$password")" 0 "nobody shows it"

for role in glusterishd brick shd client; do
  is "$(ask "$(socket $role)" /errors | jq -r '.errors | type')" array "role $role tells what went wrong lately"
done

echo content >"$WORK/mnt/file"
like "$(ask "$(socket client)" /metrics)" '^glusterish_mount_fuse_requests_total\{.*volume="seen".*layer="[^"]+"\} [1-9]' \
  "what is done is counted"
is "$(gi metrics seen | grep -oE '^glusterish_process_open_fds\{process="[a-z]+' | cut -d'"' -f2 | sort | xargs)" "brick brick client shd" \
  "the command line gathers what the processes of a volume show"
is "$(gi metrics | tail -n 1)" "# EOF" "and those of the machine"
is "$(gi --json metrics | jq '[.families[] | select(.name == "glusterish_node_answers").samples[] | select(.value == 1)] | length')" 5 "also as JSON"
nok "who asks for no volume is told so" gi metrics none
nok "so is who is not root" setpriv --reuid=65534 --clear-groups "$GLUSTERISH" metrics
like "$OUTPUT" "cannot look into $O" "by the name of the directory"
port=$(sed -n 's/.*observed on TCP port \([0-9]*\)$/\1/p' "$WORK/mount-mnt.log")
is "$(curl -s --max-time 20 "http://$HOST:$port/process" | jq -r .role)" client "the client answers on TCP where it was told to"
like "$(curl -s --max-time 20 "http://$HOST:$port/statedump")" "only metrics" "but nothing that tells of files"
port=$(sed -n 's/.*observed on TCP port \([0-9]*\)$/\1/p' "$WORK/d/log/glusterishd.log")
is "$(curl -s --max-time 20 "http://127.0.0.1:$port/process" | jq -r .role)" glusterishd "the daemon on the loopback address"
nok "and on no other" curl -s --max-time 20 "http://$HOST:$port/process"

s=$(socket client)
unmount "$WORK/mnt"
ok "a socket goes with its process" within 10 test ! -e "$s"
s=$(socket brick)
kill -9 "$(ask "$s" /process | jq -r .pid)"
ok "the one of a killed process stays" test -S "$s"
must "the volume is mounted again" mount_volume seen "$WORK/mnt2"
ok "until another process begins" test ! -e "$s"
nok "a port that is nobody's to take is told" "$GLUSTERISHFS" -f /dev/null --observe=192.0.2.1:1 -l "$WORK/log"
like "$OUTPUT" 'observe=192.0.2.1:1' "by name"
done_testing
