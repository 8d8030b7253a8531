#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Who keeps a mount waiting is named: a slow brick, the holder of a lock, a frozen brick, a frozen client that writes or reads.
. "$(dirname "$0")/lib.sh"
require_root
require_fuse
for tool in jq curl python3; do command -v $tool >/dev/null || skip_all "needs $tool"; done
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

# ask: the observation socket of a mount.
mount_pid() { pgrep -f -- "--volfile-id ${2:-c} .*$1\$" | head -n 1; } # MOUNT [VOLUME]
ask() { # MOUNT PATH [VOLUME]
  curl -s --max-time 20 --unix-socket "$(find "$WORK/observe" -name "client-*-$(mount_pid "$1" "${3:-c}").socket")" "http://localhost$2"
}
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

# A frozen client that reads. The brick is frozen first, so that all is asked for before anything is taken, and that is more than the
# buffers of a connection hold.
R=$WORK/r
must "a volume of one brick starts" start_volume r 1
must "it is mounted" mount_volume r "$R"
must "by another one, too" mount_volume r "$WORK/q"
must "it has a file" dd if=/dev/zero of="$R/large" bs=1M count=48 status=none
python3 - "$R/large" "$WORK/go" <<'PY' &
import mmap, os, sys, threading, time
file = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
os.preadv(file, [mmap.mmap(-1, 4096)], 0)
open(sys.argv[2] + ".open", "w").close()
while not os.path.exists(sys.argv[2]):
    time.sleep(0.05)
for i in range(48):
    threading.Thread(target=os.preadv, args=(file, [mmap.mmap(-1, 1 << 20)], i << 20)).start()
PY
must "somebody opens it" within 10 test -e "$WORK/go.open"
pids=("$(brick_pid r "$WORK/bricks/r-1")" "$(mount_pid "$R" r)")
kill -STOP "${pids[0]}"
: >"$WORK/go"
asked() { ask "$R" /inflight r | jq -e '[.operations[] | select(.kind == "READ")] | length == 48'; }
ok "its reads are under way" within 10 asked
kill -STOP "${pids[1]}"
kill -CONT "${pids[0]}"
queued() { told "mount $R of r" '.findings[] | select(.id == "slow-client") | .culprit.name' gi doctor r --json; }
ok "doctor names a frozen client that does not take what it reads" within 15 queued
ok "and says how much waits for it" told "bytes now" '.findings[] | select(.id == "slow-client") | .text' gi doctor r --json
ok "why names it for the file" told "mount $R of r" "$BECAUSE" gi why "$WORK/q/large" --json
let_go
wait
done_testing
