#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Who keeps a mount waiting is named: a slow brick, the holder of a lock, a frozen brick, a frozen client.
. "$(dirname "$0")/lib.sh"
require_root
require_fuse
command -v jq >/dev/null && command -v curl >/dev/null || skip_all "needs jq and curl"
start_glusterishd
must "a volume starts" start_volume c 3
ok "with a layer that can delay bricks" gi volume set c debug.delay-gen posix
ok "which does not yet" gi volume set c delay-gen.delay-percentage 0
ok "a brick that does not answer is waited for" gi volume set c network.ping-timeout 42
B=$WORK/bricks/c-2
A=$WORK/a
pids=()
let_go() { for pid in "${pids[@]}"; do kill -CONT "$pid" 2>/dev/null; done; }
trap 'let_go; cleanup' EXIT

# ask MOUNT PATH: the observation socket of a mount.
mount_pid() { pgrep -f -- "--volfile-id c .*$1\$" | head -n 1; }
ask() { curl -s --max-time 20 --unix-socket "$(find "$WORK/observe" -name "client-*-$(mount_pid "$1").socket")" "http://localhost$2"; }
# told CULPRIT JQ COMMAND...: the filter finds the culprit's name, sooner or later.
told() {
  local culprit=$1 filter=$2
  shift 2
  "$@" | jq -r "$filter" | grep -qF -- "$culprit"
}
FINDINGS='.findings[] | select(.id == $id) | .culprit.name'
found() { told "$2" "\"$1\" as \$id | $FINDINGS" gi doctor c --json; }
BECAUSE='.because[].culprit.name'

# A slow brick: one process begins again as before, but for its disk.
mapfile -d '' -t command <"/proc/$(brick_pid c "$B")/cmdline"
kill -9 "$(brick_pid c "$B")"
must "a brick comes back with a slow disk" "$GLUSTERISHFS" "${command[@]:1}" --xlator-option=c-delay-gen.delay-percentage=100 \
  --xlator-option=c-delay-gen.delay-duration=100000
pids+=("$(brick_pid c "$B")")
must "it is mounted" mount_volume c "$A"
must "twice" mount_volume c "$WORK/b"
all_three() { [ "$(grep -c 'attached to' "$WORK/mount-a.log")" -ge 3 ] && [ "$(grep -c 'attached to' "$WORK/mount-b.log")" -ge 3 ]; }
ok "both mounts use all bricks" within 20 all_three
for n in 1 2 3 4 5 6; do echo $n >"$A/f$n"; done
ok "doctor names the slow brick" within 10 found slow-brick "brick $HOST:$B (pid"
like "$(gi doctor c --json | jq -r '.findings[] | select(.id == "slow-brick") | .text')" "on purpose" "and what makes it slow"

# A lock that somebody holds for long.
exec 9<>"$A/f1"
flock 9
flock "$WORK/b/f1" true 9>&- &
waiter=$!
ok "why names the holder of a lock" within 10 told "mount $A of c" "$BECAUSE" gi why "$WORK/b/f1" --json
waits_for_lock() { # on a brick
  local s
  for s in "$WORK"/observe/brick-*; do
    told "-PID:$(mount_pid "$A")-" '.operations[] | select(.kind == "LK") | .waits.who // ""' \
      curl -s --max-time 20 --unix-socket "$s" http://localhost/inflight && return
  done
  return 1
}
ok "so does the operation under way" within 10 waits_for_lock
flock -u 9
wait $waiter
exec 9>&-

# A frozen brick.
kill -STOP "$(brick_pid c "$B")"
dd if=/dev/zero of="$A/f2" bs=4k count=1 conv=notrunc,fsync 2>/dev/null &
writer=$!
ok "doctor names a frozen brick" within 10 found process-silent "brick $HOST:$B (pid"
ok "why does for a file that it keeps waiting" within 10 told "$HOST:$B" "$BECAUSE" gi why "$A/f2" --json
waits_for_brick() { told "$B" '.operations[] | .. | objects | select(.open).waits.what // ""' ask "$A" /inflight; }
ok "and so does the operation under way" within 10 waits_for_brick
ok "and trace, in the steps of what hangs" within 10 told "$B" '.. | strings' gi trace c --hanging --seconds 1 --json
let_go
wait $writer

# A frozen client, in the middle of its writes.
dd if=/dev/zero of="$A/f3" bs=4k count=100000 conv=notrunc 2>/dev/null &
writer=$!
busy() { ask "$A" /inflight | jq -e '[.operations[] | select(.kind == "WRITE")] | length > 0'; }
within 10 busy
pids+=("$(mount_pid "$A")")
kill -STOP "${pids[-1]}"
echo x >>"$WORK/b/f3" &
ok "doctor names a frozen client as who holds the lock" within 15 found lock-holder "mount $A of c"
ok "and as a process that does not answer" found process-silent "mount $A of c"
ok "why does so for the file" told "mount $A of c" "$BECAUSE" gi why "$WORK/b/f3" --json
let_go
kill $writer 2>/dev/null
wait
done_testing
