#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Does the simulator find bugs? Each bug that was put in on purpose (GI_BROKEN, libglusterish/rare.h) must be caught by a few seeds.
set -u
RUN="${GLUSTERISH_BUILDDIR:?}/tests/simulation/run"
SEEDS=500
n=0

mapfile -t bugs < <("$RUN" --list | sed -n '/^broken:/,$s/^  //p')
echo "1..$((${#bugs[@]} + 2))"

# result NAME STATUS
result() {
  n=$((n + 1))
  if [ "$2" -eq 0 ]; then echo "ok $n - $1"; else echo "not ok $n - $1"; fi
}

[ "${#bugs[@]}" -ge 10 ]
result "there are bugs to be found" $?

# The first seed that fails with the bug and not without it; as run tells it.
catch() {
  local from=1 line seed
  while [ "$from" -le "$SEEDS" ]; do
    line=$("$RUN" --workload register --broken "$1" --first --seeds "$from..$SEEDS" 2>/dev/null | grep -m1 '^FAILED') || return
    seed=${line#FAILED seed }
    seed=${seed%%:*}
    if "$RUN" --workload register --seed "$seed" >/dev/null 2>&1; then
      echo "$line"
      return
    fi
    from=$((seed + 1))
  done
}

for bug in "${bugs[@]}"; do
  caught=$(catch "$bug")
  [ -n "$caught" ]
  result "caught: $bug" $?
  echo "# $caught"
done
"$RUN" --broken "no such bug" --seed 1 >/dev/null 2>&1
[ $? -eq 2 ]
result "a bug nobody knows is refused" $?
