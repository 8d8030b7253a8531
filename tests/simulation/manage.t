#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The management of a pool in simulated time: some seeds hold every rule, and bugs on purpose are found.
set -u
MANAGE="${GLUSTERISH_BUILDDIR:?}/tests/simulation/manage"
SEEDS=25 FIND=40
[ "${SIMULATION:-}" = short ] && SEEDS=6 FIND=12
. "${GLUSTERISH_SRCDIR:?}/tests/tap.sh"

# The seeds that are tried, where those before do not bring it about.
declare -A from=(["miss what others changed"]=50 ["keep the authority whose key a node takes along"]=125)
bugs=("change definitions though the lock is lost" "miss what others changed" "store what the conditions forbid"
  "keep the authority whose key a node takes along" "keep the passwords that a node takes along")
"$MANAGE" --list | grep -qxF "${bugs[0]}" || bugs=() # this build is not configured with --enable-mutants
echo "1..$((3 + ${#bugs[@]}))"
out=$("$MANAGE" --seeds 1..$SEEDS)
result "$SEEDS seeds hold every rule" $?
printf '%s\n' "$out" | grep FAILED | sed 's/^/# /'
[ "$("$MANAGE" --seed 3)" = "$("$MANAGE" --seed 3)" ]
result "one seed is one history" $?
"$MANAGE" --seeds 9..1 >/dev/null 2>&1
[ $? -eq 2 ]
result "nonsense is refused" $?
for bug in "${bugs[@]}"; do
  out=$("$MANAGE" --broken "$bug" --first --seeds "${from[$bug]:-1}..$((${from[$bug]:-1} + FIND))")
  printf '%s\n' "$out" | grep -q FAILED
  result "caught: $bug" $?
  printf '%s\n' "$out" | grep FAILED | sed 's/^/# /'
done
