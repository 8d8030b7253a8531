# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# TAP of scripts that check one thing after another without processes of ours (tests/functional/lib.sh is for those). Source it.
n=0

# result NAME STATUS
result() {
  n=$((n + 1))
  if [ "$2" -eq 0 ]; then echo "ok $n - $1"; else echo "not ok $n - $1"; fi
}

# none NAME OFFENDERS: fails if there are any, one per line.
none() {
  result "$1" "$([ -z "$2" ]; echo $?)"
  [ -z "$2" ] || printf '%s\n' "$2" | head -n 40 | sed 's/^/# /'
}
