#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One seed is one history, whatever the surroundings; and some seeds.
set -u
RUN="${GLUSTERISH_BUILDDIR:?}/tests/simulation/run"
n=0

# result NAME STATUS
result() {
  n=$((n + 1))
  if [ "$2" -eq 0 ]; then echo "ok $n - $1"; else echo "not ok $n - $1"; fi
}

hash_of() { "$@" --seed 42 --until 10 | sed -n 's/^hash //p'; }

echo "1..15"
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
last=300 some=40
[ "${SIMULATION:-}" = short ] && last=140 some=10

# hold NAME OPTIONS...: every seed holds every invariant.
hold() {
  local name=$1 out
  shift
  out=$("$RUN" "$@")
  result "$name" $?
  printf '%s\n' "$out" | grep -E 'FAILED|died|hangs|--seed' | sed 's/^/# /'
}
hold "seeds 101 to $last hold every invariant, with every fault" --workload register --seeds "101..$last"
# Of names, only what the open bugs of bricks that lose their power do not reach.
hold "names, seeds 1 to $some, hold every invariant" --workload names --seeds "1..$some" \
  --mishaps client-crash,client-freeze,healer-crash,healer-freeze,slow-reader
hold "names while bricks crash, seeds 1 to 25, hold every invariant" --workload names --mishaps brick-crash --seeds 1..25
hold "names while connections are cut, seeds 17 to 30, hold every invariant" --workload names --mishaps cut --seeds 17..30
hold "names while bricks are cut off, seeds 9 to 20, hold every invariant" --workload names --mishaps partition --seeds 9..20
hold "a little of everything with every fault, seeds 1 to $some, ends healed" --workload mixed --seeds "1..$some"
hold "locks, seeds 1 to $some, are exclusive" --workload locks --seeds "1..$some"
hold "synchronous writes to disks that refuse, seeds 1 to $some, are where they were promised" --workload synced --seeds "1..$some" \
  --mishaps disk-refuses,brick-crash,cut
hold "layers for speed that are switched on and off under load, seeds 1 to $some, lose and forget nothing" --workload register \
  --layers all --mishaps toggle,brick-crash,cut --seeds "1..$some"
hold "names, seeds 1 to 25, hold every invariant while layers for speed come and go" --workload names --layers all \
  --mishaps toggle,cut --seeds 1..25
"$RUN" --seeds 9..1 >/dev/null 2>&1
[ $? -eq 2 ]
result "nonsense is refused" $?
