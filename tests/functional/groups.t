#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Groups of options: each that is installed can be set, and it is set as a whole.
. "$(dirname "$0")/lib.sh"
require_root
export GLUSTERISH_GROUPS_DIR=$GLUSTERISH_SRCDIR/extras/groups

start_glusterishd >/dev/null
must "a volume is there" gi volume create v replica 3 "$HOST:$WORK/b1" "$HOST:$WORK/b2" "$HOST:$WORK/b3" force

# Every line of the file is in the volume, or was said to be ignored.
is_set() {
  local line answer
  answer=$(gi volume set v group "$1") || { echo "$answer"; return 1; }
  while read -r line; do
    case $line in '#'* | '') continue ;; esac
    line=${line#\?}
    [ "$(gi volume info v | sed -n "s/^${line%%=*}: //p")" = "${line#*=}" ] ||
      grep -qxF "ignored: $line (not in this version)" <<<"$answer" || { echo "$line"; return 1; }
  done <"$GLUSTERISH_GROUPS_DIR/$1"
}

for group in "$GLUSTERISH_GROUPS_DIR"/*; do
  group=${group##*/}
  ok "group $group" is_set "$group"
  is "$(gi volume set help group | grep -cx "Group: $group")" 1 "it is listed"
done

groups=$(gi system:: getwd)/groups
must "the daemon's directory has groups of its own" mkdir -p "$groups"
gi volume reset v >/dev/null
printf '%s\n' user.first=1 network.ping-timeout=20 performance.nosuch=on >"$groups/broken"
is "$(gi volume set v group broken 2>&1 | head -n 1)" "volume set: failed: option : performance.nosuch does not exist" \
  "a group with an option that does not exist is refused"
is "$(gi volume info v | grep -cE '^(user.first|network.ping-timeout):')" 0 "and nothing of it is set"
done_testing
