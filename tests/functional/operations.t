#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A process tells of its operations: how long they stay in each layer, which hang and why, and the whole tree of one, bricks included.
. "$(dirname "$0")/lib.sh"
require_root
require_fuse
command -v curl >/dev/null && command -v jq >/dev/null || skip_all "needs curl and jq"
start_glusterishd
must "a volume starts" start_volume ops 3
must "it is mounted" mount_volume ops "$WORK/mnt"
O=$WORK/observe

# socket ROLE [PATTERN]: the socket of a process.
socket() { find "$O" -name "$1-${2:-*}.socket" | sort | head -n 1; }
# ask SOCKET PATH
ask() { curl -s --max-time 30 --unix-socket "$1" "http://localhost$2"; }
C=$(socket client)

dd if=/dev/zero of="$WORK/mnt/file" bs=64k count=40 conv=fsync status=none
is "$(ask "$C" /layers | jq '[.layers[] | select(.type == "protocol/client") | .kinds[] | select(.kind == "WRITE" and .count > 0 and
  .own.p50 > 0)] | length')" 3 "each connection to a brick knows how long its writes took"
is "$(ask "$(socket brick)" /layers | jq '[.layers[] | select(.type == "storage/posix") | .kinds[] | select(.kind == "WRITE" and
  .all.max >= .all.p50 and .all.p50 > 0)] | length')" 1 "a brick, how long its disk did"
like "$(ask "$C" '/recorder?last=500' | jq -r '.operations[] | .kind + " " + (.error | tostring)')" '^WRITE 0' \
  "the last operations are there"

# ---- one operation as a whole ----
ask "$C" "/trace?count=20&seconds=20&path=/file" >"$WORK/trace" &
asked=$!
for _ in $(seq 100); do
  dd if=/dev/zero of="$WORK/mnt/file" bs=4k count=1 conv=notrunc,fsync status=none
  kill -0 $asked 2>/dev/null || break
  sleep 0.1
done
wait $asked
# the traced FSYNC that reached most bricks: replicate sends some of its own
tree() {
  jq "[.operations[] | select(.kind == \"FSYNC\")] | max_by([.tree | .. | objects | select(.remote?.role? == \"brick\") | .remote.brick] |
    unique | length) | $1" "$WORK/trace"
}
is "$(tree '[.tree | .. | objects | select(.remote?.role? == "brick") | .remote.brick] | unique | length')" 3 \
  "the tree of an FSYNC has the parts of all bricks"
is "$(tree '[.tree | .. | objects | select(.layer? == "fsync" and .type == "system-call")] | length > 0')" true \
  "down to the system call"
is "$(tree '[.tree | .. | objects | select(.type? == "protocol/client" and .steps != []) | .wire_ns > 0 and .waited_for != null] | all')" \
  true "and the time on the wire"
is "$(tree '.tree.took_ns == .took_ns and .tree.open == false')" true "it has the time of the whole operation"
is "$(tree '[.tree | .. | objects | select(.remote? and .remote != null) as $r | $r.start_ns >= 0 and $r.took_ns <= .took_ns] | all')" true \
  "no part is longer than the whole"

own='def own: .own_ns + ([.steps[] | select(.waited_for) | own] | add // 0);'
is "$(jq "$own"' [.operations[] | (.tree | own) / .took_ns] | sort | .[length / 2 | floor] | . > 0.95 and . < 1.05' "$WORK/trace")" true \
  "own times along what was waited for are the time of the operation, in the median"

# ---- what hangs ----
brick=$(ask "$(socket brick)" /process | jq -r .pid)
kill -STOP "$brick"
sync -d "$WORK/mnt/file" & # nothing to write, or it waits too
dd if=/dev/zero of="$WORK/mnt/file" bs=4k count=1 conv=notrunc,fsync status=none &
hangs() {
  ask "$C" /inflight | jq -e '[.operations[].tree | .. | objects | select(.open? and .waits? and .waits.for == "brick")] | length > 0'
}
ok "what hangs is told while it hangs, and for which brick" within 20 hangs
like "$(ask "$C" '/trace?seconds=1&hanging_ms=1' | jq -r '.operations[] | .took_ns')" null "a trace has it, too"
kill -CONT "$brick"
wait
none() { [ "$(ask "$C" /inflight | jq '.operations | length')" = 0 ]; }
ok "when it is over it is gone" within 20 none
ok "it is among the slow ones" within 20 sh -c "curl -s --unix-socket '$C' http://localhost/slow | jq -e '.operations | length > 0'"
nok "a path that is not there has no trace" test "$(ask "$C" '/trace?seconds=1&path=/no/such' | jq -r '.operations | length' 2>/dev/null)" = 0
done_testing
