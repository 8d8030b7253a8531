#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What an operation did, through the mount and every brick: `glusterish trace` on three copies, and of a write that hangs in one.
# shellcheck source=tests/functional/lib.sh
. "$(dirname "$0")/lib.sh"
require_root
require_fuse
command -v jq >/dev/null || skip_all "needs jq"

start_glusterishd || exit 1
must "a volume of three copies is there" start_volume data 3
# Without the layers for speed a write is three writes now, not later.
gi volume set data performance.write-behind off >/dev/null
gi volume set data network.ping-timeout 42 >/dev/null # a frozen brick is waited for, not given up
must "it is mounted" mount_volume data "$WORK/mnt"
F=$WORK/mnt/file
within 20 sh -c "echo x >'$F'"

write() { dd if=/dev/zero of="$F" bs=4k count=1 conv=notrunc status=none; }

# traced WORDS...: traces while somebody writes; the document is in $WORK/trace.json.
traced() {
  gi --json trace data --seconds 20 "$@" >"$WORK/trace.json" &
  local asked=$!
  while kill -0 $asked 2>/dev/null; do
    write
    sleep 0.1
  done
  wait $asked
}

look() { jq -e -r "$1" "$WORK/trace.json"; }

ok "operations of a file are traced" traced --path "$F" --count 30
is "$(look '[.operations[] | select(.kind == "WRITE" and .tree)][0].path')" /file "a write is among them"
jq '[.operations[] | select(.kind == "WRITE" and .tree)][0]' "$WORK/trace.json" >"$WORK/write.json"
is "$(jq -r '[.tree | .. | objects | select(.layer?) | .type] | map(select(. == "cluster/replicate")) | join(" ")' "$WORK/write.json")" \
  cluster/replicate "its tree has the replication"
is "$(jq -r '[.tree | .. | objects | select(.type? == "storage/posix" and .kind == "WRITE")] | length' "$WORK/write.json")" 3 \
  "and the disks of three bricks"
ok "one of the copies is the one that was waited for" jq -e \
  '[.tree | .. | objects | select(.type? == "protocol/client") | .waited_for] | any' "$WORK/write.json"
# Those that were waited for, from the top down: together they took as long as the operation. Where a processor was taken away between two
# clocks that are read they differ, so most have to.
cat >"$WORK/sum.jq" <<'JQ'
def path_own: .own_ns + ([.steps[] | select(.waited_for) | path_own] | add // 0);
[.operations[] | select(.kind == "WRITE" and .tree and .took_ns) | (.tree | path_own) / .took_ns] | sort |
  if length > 0 then .[length / 2 | floor] else 0 end
JQ
share=$(jq -f "$WORK/sum.jq" "$WORK/trace.json")
note "the own times of the steps waited for, of the time of the operation: $share"
ok "they are the time of the operation" jq -en --argjson s "$share" '$s > 0.95 and $s < 1.05'

gi trace data --path /file --seconds 20 --count 5 >"$WORK/text" &
asked=$!
while kill -0 $asked 2>/dev/null; do
  write
  sleep 0.1
done
like "$(cat "$WORK/text")" '^ .* \* .*\(cluster/replicate\)' "as text"

# ---- one that hangs ----

# Two of three, or the others would answer.
frozen=("$(brick_pid data "$WORK/bricks/data-2")" "$(brick_pid data "$WORK/bricks/data-3")")
kill -STOP "${frozen[@]}"
write &
hung=$!
hangs() {
  gi --json trace data --hanging --slower-than 100ms >"$WORK/trace.json" && kill -0 $hung &&
    look '[.operations[] | select(.took_ns == null) | .. | objects | select(.waits?.for? == "brick") | .waits.what] | any(test("data-[23]"))'
}
ok "what hangs is told while it hangs, and for which brick it waits" within 30 hangs
within 30 sh -c "'$GLUSTERISH' trace data --hanging --slower-than 100ms >'$WORK/text'"
like "$(cat "$WORK/text")" '^[A-Z]+ .*hangs for' "as text, what hangs"
like "$(cat "$WORK/text")" 'protocol/client.*; waits .* for brick' "and for what it waits"
kill -CONT "${frozen[@]}"
wait "$hung"
done_testing
