#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What `glusterish trace` exports for other programs: trace events for Perfetto, spans for a receiver of OpenTelemetry.
# shellcheck source=tests/functional/lib.sh
. "$(dirname "$0")/lib.sh"
require_root
require_fuse
start_glusterishd || exit 1
must "a volume of three copies is there" start_volume data 3
gi volume set data performance.write-behind off >/dev/null
must "it is mounted" mount_volume data "$WORK/mnt"
within 20 dd if=/dev/zero of="$WORK/mnt/file" bs=4k count=1 status=none
python3 "$(dirname "$0")/trace-exports.py" receive "$WORK/port" >"$WORK/spans" &
receiver=$!
must "somebody receives spans" within 20 test -s "$WORK/port"
traced() {
  gi trace data --path /file --count 5 --seconds 20 --perfetto "$WORK/events" --otlp "http://127.0.0.1:$(cat "$WORK/port")/v1/traces" &
  local asked=$!
  while kill -0 $asked 2>/dev/null; do
    dd if=/dev/zero of="$WORK/mnt/file" bs=4k count=1 conv=notrunc status=none
    sleep 0.1
  done
  wait $asked
}
ok "operations are exported" traced
wait $receiver
python3 "$(dirname "$0")/trace-exports.py" events "$WORK/events" >>"$WORK/spans"
while read -r line; do
  case $line in
    ok*) pass "${line#*- }" ;;
    not*) fail "${line#*- }" ;;
    *) note "$line" ;;
  esac
done <"$WORK/spans"
is "$(grep -c '^ok' "$WORK/spans")" 12 "all was looked at"
done_testing
