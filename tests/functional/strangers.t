#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Strangers at the ports of a brick and of the management daemon: memory stays bounded, and whoever behaves goes on.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/bricks.sh"
require_root
require_fuse
start_glusterishd
must "a volume starts" start_volume v 1
M=$WORK/mnt
must "it is mounted" mount_volume v "$M"
dd if=/dev/urandom of="$M/data" bs=1M count=4 status=none
B=$WORK/bricks/v-1
brick=$(brick_pid v "$B")
port=$(gi volume status v --json | jq -r '[.. | objects | select(.port?) | .port] | first')
like "$port" '^[0-9]+$' "the port of the brick is known"
gfid=$(getfattr -n trusted.gfid -e hex --only-values "$B/data" 2>/dev/null | tr -d '\n')
[ "${gfid#0x}" != "$gfid" ] || gfid=$(getfattr -n trusted.gfid -e hex "$B/data" 2>/dev/null | sed -n 's/^trusted.gfid=//p')

most=128
! grep -qE "lib[a-z]*asan" "/proc/$brick/maps" || most=528 # what was freed is kept for a while

# bounded NAME PORT PID COMMAND KIND [ARG...]
bounded() {
  local name=$1 port=$2 pid=$3 command=$4 kind=$5 said
  shift 5
  said=$(python3 "$(dirname "$0")/strangers.py" "$kind" "$HOST" "$port" "$pid" "$command" "$@" 2>&1)
  note "$SECONDS s: $kind: $said"
  like "$said" '^[0-9]+ status 0:' "$name: who behaves goes on"
  ok "$name: memory is bounded" test "$(awk 'END {print $1 ~ /^[0-9]+$/ ? $1 : 9999}' <<<"$said")" -lt $most
  kill -0 "$pid" || fail "$name: the process lives" "$said"
}
work="dd if=/dev/zero of='$M/work' bs=64k count=32 conv=fsync status=none && rm '$M/work'"
again="mkdir -p '$WORK/again' && '$GLUSTERISHFS' -s $HOST --volfile-server-port $PORT --volfile-id v -l '$WORK/again.log' '$WORK/again' &&
  for i in \$(seq 300); do mountpoint -q '$WORK/again' && break; sleep 0.1; done; cmp '$WORK/again/data' '$B/data'; s=\$?; umount -l '$WORK/again'; exit \$s"
bounded "calls that are none, at a brick" "$port" "$brick" "$work" flood
bounded "records without end, at a brick" "$port" "$brick" "$work" big
bounded "answers that nobody reads" "$port" "$brick" "$work" read "$B" "$gfid"
bounded "silent connections, at a brick" "$port" "$brick" "$again" idle
bounded "calls that are none, at the daemon" "$PORT" "$DAEMON_PID" "$again" flood
bounded "records without end, at the daemon" "$PORT" "$DAEMON_PID" "$again" big
bounded "silent connections, at the daemon" "$PORT" "$DAEMON_PID" "$again" idle
ok "the first mount was never gone" cmp "$M/data" "$B/data"
done_testing
