#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Logs as lines of JSON, whole ones, from every process; and that nothing is written while nothing happens.
# shellcheck source=tests/functional/lib.sh
. "$(dirname "$0")/lib.sh"
require_root
require_fuse
command -v jq >/dev/null || skip_all "needs jq"

nok "a format that there is not is refused" "$GLUSTERISHD" --working-directory /nonexistent --log-format=xml
like "$OUTPUT" 'unknown log format xml' "by name"
start_glusterishd --log-format=json
must "a volume starts" start_volume logs 3
must "it is mounted" mount_volume logs "$WORK/mnt" --log-format=json
within 20 sh -c "echo x >'$WORK/mnt/file'"

files() { find "$WORK/d/log" "$WORK/mount-mnt.log" -name '*.log' ! -name cmd_history.log; }
lines() { files | xargs cat | wc -l; }

# Every process has said something, and is quiet then.
settled() {
  local before
  before=$(lines)
  sleep 1
  [ "$(files | wc -l)" -ge 6 ] && [ "$(lines)" = "$before" ]
}
ok "all are quiet when nothing happens" within 30 settled
kill -9 "$(brick_pid logs "$WORK/bricks/logs-1")"
within 20 grep -q 'disconnected' "$WORK/mount-mnt.log"
for f in $(files); do
  cp "$f" "$WORK/lines" # it may grow
  is "$(jq -c 'select(.time and .level and .msgid and .message)' "$WORK/lines" | wc -l)" "$(wc -l <"$WORK/lines")" "each line is an object: ${f##*/}"
done
done_testing
