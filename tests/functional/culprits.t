#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Who keeps a mount waiting is named by doctor, why, trace and what is under way: a slow brick, the holder of a lock, a frozen brick, a
# frozen client that writes, reads, or does not say that it has heard of a change.
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
# look NAME COMMAND...: it succeeds, sooner or later; whoever is frozen is waited for each time, so all look at once. seen: all of them have.
names=() looks=()
look() {
  names+=("$1")
  within 40 "${@:2}" &
  looks+=($!)
}
seen() {
  local i
  for i in "${!looks[@]}"; do ok "${names[i]}" wait "${looks[i]}"; done
  names=() looks=()
}

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
ok "doctor names the slow brick" within 40 found slow-brick "brick $HOST:$B (pid"
like "$(gi doctor c --json | jq -r '.findings[] | select(.id == "slow-brick") | .text')" "on purpose" "and what makes it slow"
slow() { for ((i = 0; i < 300; i++)); do dd if=/dev/zero of="$A/f4" bs=4k count=1 conv=notrunc,fsync 2>/dev/null; done; }
slow &
writer=$!
waits_for_brick() { told "$B" '.operations[] | .. | objects | select(.open).waits.what // ""' ask "$A" /inflight; }
look "operations under way wait for it" waits_for_brick
look "why names it for a file that is written" told "$HOST:$B" "$BECAUSE" gi why "$A/f4" --json
slow_step() { # of a brick, below the step of the client that waited for it
  gi trace c --slower-than 50ms --seconds 3 --count 5 --json | jq -e --arg b "$B" \
    '[.operations[].tree | .. | objects | select(.remote?.brick? == $b and .took_ns > 50000000)] | length > 0' >/dev/null
}
look "and trace, in the steps of what is slow" slow_step
seen
kill $writer
wait $writer 2>/dev/null

# A lock that somebody holds for long.
exec 9<>"$A/f1"
flock 9
flock "$WORK/b/f1" true 9>&- &
waiter=$!
look "why names the holder of a lock" told "mount $A of c" "$BECAUSE" gi why "$WORK/b/f1" --json
waits_for_lock() { # on a brick
  local s
  for s in "$WORK"/observe/brick-*; do
    told "-PID:$(mount_pid "$A")-" '.operations[] | select(.kind == "LK") | .waits.who // ""' \
      curl -s --max-time 20 --unix-socket "$s" http://localhost/inflight && return
  done
  return 1
}
look "so does the operation under way" waits_for_lock
# held_up_by MOUNT PID [VOLUME]: what is under way in the mount waits for the client of that process. traced: so do the steps of what hangs.
held_up_by() { told "-PID:$2-" '.operations[].waits.who // ""' ask "$1" /inflight "${3:-c}"; }
traced() { told "-PID:$1-" '.operations[].tree | .. | objects | .waits?.who? // ""' gi trace "${2:-c}" --hanging --slower-than 100ms --seconds 1 --json; }
look "also in the mount that waits" held_up_by "$WORK/b" "$(mount_pid "$A")"
look "and below it" told "-PID:$(mount_pid "$A")-" '.operations[].waits.who // ""' cat "$WORK/b/.glusterish/inflight"
look "and trace, in the steps of the brick" traced "$(mount_pid "$A")"
as_text() { gi trace c --hanging --slower-than 100ms --seconds 1 | grep -q 'waits .* for lock: .*, held by client .*-PID:'; }
look "as text" as_text
seen
flock -u 9
wait $waiter
exec 9>&-

# A frozen brick.
kill -STOP "$(brick_pid c "$B")"
dd if=/dev/zero of="$A/f2" bs=4k count=1 conv=notrunc,fsync 2>/dev/null &
writer=$!
look "doctor names a frozen brick" found process-silent "brick $HOST:$B (pid"
look "why does for a file that it keeps waiting" told "$HOST:$B" "$BECAUSE" gi why "$A/f2" --json
look "and so does the operation under way" waits_for_brick
look "and trace, in the steps of what hangs" told "$B" '.. | strings' gi trace c --hanging --seconds 1 --json
seen
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
look "doctor names a frozen client as who holds the lock" found lock-holder "mount $A of c"
look "and as a process that does not answer" found process-silent "mount $A of c"
look "why does so for the file" told "mount $A of c" "$BECAUSE" gi why "$WORK/b/f3" --json
look "and what is under way in the mount that waits" held_up_by "$WORK/b" "${pids[-1]}"
look "and trace" traced "${pids[-1]}"
seen
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
ok "its reads are under way" within 40 asked
kill -STOP "${pids[1]}"
kill -CONT "${pids[0]}"
queued() { told "mount $R of r" '.findings[] | select(.id == "slow-client") | .culprit.name' gi doctor r --json; }
look "doctor names a frozen client that does not take what it reads" queued
look "and says how much waits for it" told "bytes now" '.findings[] | select(.id == "slow-client") | .text' gi doctor r --json
look "why names it for the file" told "mount $R of r" "$BECAUSE" gi why "$WORK/q/large" --json
untaken() { told "-PID:${pids[1]}-" '.operations[] | select(.waits.for == "client") | .waits.who' "$@"; }
look "what is under way at the brick waits for it" untaken \
  curl -s --unix-socket "$(find "$WORK/observe" -name "brick-*-${pids[0]}.socket")" http://localhost/inflight
look "and so it is for trace" untaken gi trace r --hanging --seconds 1 --json
seen
let_go
wait

# A frozen client that does not say that it has heard of a change.
ok "changes wait for those who cache" gi volume set r features.cache-invalidation on
ok "for a long time" gi volume set r features.cache-invalidation-timeout 600
ok "until they have heard of it" gi volume set r features.cache-invalidation-strict on
looked() {
  stat "$R/large" >/dev/null
  gi why "$WORK/q/large" --json | jq -e --arg pid "-PID:${pids[1]}-" '.users[] | select(.client | contains($pid)) | .told_s' >/dev/null
}
ok "it looks at the file" within 40 looked
kill -STOP "${pids[1]}"
chmod 600 "$WORK/q/large" &
look "what is under way in another mount waits for the client that has not heard of it" held_up_by "$WORK/q" "${pids[1]}" r
look "so trace says" traced "${pids[1]}" r
look "and doctor" queued
look "and why" told "mount $R of r" "$BECAUSE" gi why "$WORK/q/large" --json
seen
let_go
wait
done_testing
