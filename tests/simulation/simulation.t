#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One seed is one history, whatever the surroundings; and some seeds.
set -u
RUN="${GLUSTERISH_BUILDDIR:?}/tests/simulation/run"
. "${GLUSTERISH_SRCDIR:?}/tests/tap.sh"

hash_of() { "$@" --seed 42 --until 10 | sed -n 's/^hash //p'; }

echo "1..17"
first=$(hash_of "$RUN")
[ -n "$first" ]
result "a run tells its hash" $?
[ "$(hash_of "$RUN")" = "$first" ]
result "the same seed has the same history" $?
[ "$(cd / && hash_of env -i GLUSTERISH_XLATOR_DIR="$GLUSTERISH_XLATOR_DIR" LC_ALL=C FILLER="$(printf '%4000s' x)" setarch -R "$RUN")" = "$first" ]
result "at other addresses, in another environment too" $?
[ "$("$RUN" --seed 43 --until 10 | sed -n 's/^hash //p')" != "$first" ]
result "another seed has another" $?
# SIMULATION=short: a part of it, where every seed takes long (extras/check under ASan).
# More of them are run by hand (README.md); these are what a change that breaks something soon meets.
many=50 some=15 few=10
[ "${SIMULATION:-}" = short ] && many=15 some=5 few=5

# hold NAME OPTIONS...: every seed holds every invariant.
hold() {
  local name=$1 out
  shift
  out=$("$RUN" "$@")
  result "$name" $?
  printf '%s\n' "$out" | grep -E 'FAILED|died|hangs|--seed' | sed 's/^/# /'
}
hold "$many seeds from 101 on hold every invariant, with every fault" --workload register --seeds "101..$((100 + many))"
# Of names, only what the open bugs of bricks that lose their power do not reach.
hold "names, seeds 1 to $some, hold every invariant" --workload names --seeds "1..$some" \
  --mishaps client-crash,client-freeze,healer-crash,healer-freeze,slow-reader
hold "names while bricks crash, seeds 1 to $few, hold every invariant" --workload names --mishaps brick-crash --seeds "1..$few"
hold "names while connections are cut, $few seeds from 17 on, hold every invariant" --workload names --mishaps cut \
  --seeds "17..$((16 + few))"
hold "names while bricks are cut off, $few seeds from 9 on, hold every invariant" --workload names --mishaps partition \
  --seeds "9..$((8 + few))"
hold "a little of everything with every fault, seeds 1 to $some, ends healed" --workload mixed --seeds "1..$some"
hold "locks, seeds 1 to $some, are exclusive" --workload locks --seeds "1..$some"
hold "synchronous writes to disks that refuse, seeds 1 to $some, are where they were promised" --workload synced --seeds "1..$some" \
  --mishaps disk-refuses,brick-crash,cut
hold "layers for speed that are switched on and off under load, seeds 1 to $some, lose and forget nothing" --workload register \
  --layers all --mishaps toggle,brick-crash,cut --seeds "1..$some"
hold "names, seeds 1 to $few, hold every invariant while layers for speed come and go" --workload names --layers all \
  --mishaps toggle,cut --seeds "1..$few"
# With faults, only what the open bugs of distribution do not reach.
hold "names over several sets, seeds 1 to $some, hold every invariant" --workload spread --mishaps none --seeds "1..$some"
hold "files in blocks, seeds 1 to $some, hold every invariant" --workload sharded --mishaps none --seeds "1..$some"
"$RUN" --seeds 9..1 >/dev/null 2>&1
[ $? -eq 2 ]
result "nonsense is refused" $?
