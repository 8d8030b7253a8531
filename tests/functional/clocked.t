#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The own times of the steps of an operation are together the time that the application waits for it: with one brick and with three copies.
# shellcheck source=tests/functional/lib.sh
. "$(dirname "$0")/lib.sh"
require_root
require_fuse
command -v jq >/dev/null || skip_all "needs jq"

TIMES=340 # of three kinds: a thousand operations
start_glusterishd || exit 1
must "a volume of one brick is there" start_volume one 1
must "one of three copies is there" start_volume three 3
# Every call is to come to a brick.
for v in one three; do
  for layer in write-behind read-ahead io-cache quick-read stat-prefetch open-behind; do
    gi volume set $v performance.$layer off >/dev/null
  done
  must "the volume $v is mounted" mount_volume $v "$WORK/$v" --attribute-timeout=0 --entry-timeout=0
  within 20 dd if=/dev/zero of="$WORK/$v/file" bs=4k count=1 conv=fsync status=none
done

# Own times: of the steps that were waited for, from the top down.
cat >"$WORK/sum.jq" <<'JQ'
def path_own: .own_ns + ([.steps[] | select(.waited_for) | path_own] | add // 0);
def median: sort | .[length / 2 | floor];
[.operations[] | select(.tree and .took_ns and .kind == $kind)] |
  "\(length) \(map(.tree.type) | unique | join(",")) \(map(.took_ns) | median) \(map((.tree | path_own) / .took_ns * 100) | median | round)"
JQ

# clocked VOLUME CALL KIND: sets n, top, took (ns, median), sum (percent, median) of what is traced, and clock (ns, median) of the caller.
clocked() {
  "$GLUSTERISH_BUILDDIR/tests/functional/clocked" "$WORK/$1/file" "$2" >"$WORK/clock" &
  local caller=$!
  gi --json trace "$1" --pid $caller --count $TIMES --seconds 20 >"$WORK/trace.json"
  kill $caller
  wait $caller
  read -r n top took sum < <(jq -r --arg kind "$3" -f "$WORK/sum.jq" "$WORK/trace.json")
  clock=$(sort -n "$WORK/clock" | sed -n "$(($(wc -l <"$WORK/clock") / 2 + 1))p")
}

for v in one three; do
  for call in pread:READ pwrite:WRITE fstat:FSTAT; do
    kind=${call#*:} call=${call%:*}
    clocked $v "$call" "$kind"
    note "$v: $call took $clock ns, $took ns of them in the mount and below"
    is "$top" mount/fuse "each $call on $v is traced from the mount on"
    ok "of most of them the tree is there" test "$n" -gt $((TIMES / 2))
    ok "own times are the operation's" test "$sum" -ge 95 -a "$sum" -le 105
    # What is missing is the kernel's: to wake up the one and the other takes long where much else goes on.
    ok "which is most of what the caller waits for" test "$((took * 10))" -gt "$clock" -a "$took" -lt $((clock * 10))
  done
done
done_testing
