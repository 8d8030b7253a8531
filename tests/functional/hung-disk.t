#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The disk of a brick hangs: the daemon ends nevertheless. The disk is a mount whose process is frozen.
# shellcheck source=tests/functional/lib.sh
. "$(dirname "$0")/lib.sh"
require_root
require_fuse
frozen=
let_go() { [ -z "$frozen" ] || kill -CONT "$frozen"; }
trap 'let_go; cleanup' EXIT

start_glusterishd --observe=0/all
must "a volume is there" start_volume hung 1
must "another one is there" start_volume disk 1
must "another one is mounted where its brick is" mount_volume disk "$WORK/bricks/hung-1"
frozen=$(pgrep -f -- "--volfile-id disk .*$WORK/bricks/hung-1\$" | head -n 1)
must "it is frozen" kill -STOP "$frozen"
asks() { grep -qs request_wait_answer /proc/"$DAEMON_PID"/task/*/wchan; }
ok "the daemon asks what is free on it" within 10 asks
ok "what is known of it is told without its figures" sh -c "timeout 20 '$GLUSTERISH' --glusterd-sock='$SOCK' volume status hung detail | grep 'Inode Count'"
like "$OUTPUT" "N/A" "which nobody knows"
ok "the state of all is, too" timeout 20 "$GLUSTERISH" "--glusterd-sock=$SOCK" get-state odir "$WORK"
ok "the daemon has answered others meanwhile" gi volume list
pid=$DAEMON_PID
kill -TERM "$pid"
ok "the daemon ends" within 10 not_running "$pid"
like "$(cat "$WORK/d/log/glusterishd.log")" "a worker hangs" "and says what it does not wait for"
DAEMON_PID=
done_testing
