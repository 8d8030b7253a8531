#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A test that is told to end leaves nothing: not the daemon that was started again since it began, no brick, no mount. `timeout` tells it twice, once
# itself and once with its group, and who presses keys does so more often.
. "$(dirname "$0")/lib.sh"
require_root
require_fuse
make_work
export GLUSTERISH_SRCDIR GLUSTERISH_BUILDDIR
told_to_end() {
  kill -TERM -- "-$told"
  not_running "$told"
}

cat >"$WORK/test" <<'END'
. "$GLUSTERISH_SRCDIR/tests/functional/lib.sh"
start_glusterishd
start_volume v 1
mount_volume v "$WORK/m"
(kill -9 "$DAEMON_PID"; within 10 not_running "$DAEMON_PID"; start_glusterishd)
sh -c 'exec 5>"$1/m/open"; sleep 1000' - "$WORK" &
echo "$WORK" >"$1/up.new" && mv "$1/up.new" "$1/up"
while :; do sleep 0.1; done
END
setsid bash "$WORK/test" "$WORK" >"$WORK/out" 2>&1 &
told=$!
must "a test runs" within 60 test -e "$WORK/up"
its=$(cat "$WORK/up")
like "$(processes_of "$its" | wc -l)" '^[4-9]$' "processes of it, too"
ok "it ends when it is told to" within 30 told_to_end
is "$(processes_of "$its")" "" "they all end with it"
is "$(grep -F "${its:-/}" /proc/self/mounts)" "" "its mount does, too"
nok "its directory is gone" test -e "$its"

# Another test that begins in a namespace of its own has a copy of each mount, and no process ends before its last copy goes.
start_glusterishd >/dev/null
must "there is a volume" start_volume v 1
must "it is mounted" mount_volume v "$WORK/m"
set -m
unshare -m --propagation private "$(dirname "$0")/own-mounts" sh -c 'touch "$1"; sleep 1000' - "$WORK/apart" &
apart=$!
set +m
must "another test has mounts of its own" within 20 test -e "$WORK/apart"
ok "a mount ends all the same" end_mount "$WORK/m"
kill -- "-$apart"

cat >"$WORK/bench" <<'END'
top=$GLUSTERISH_SRCDIR
. "$top/extras/lib.sh"
at_end 'sleep 1; touch "$1/ended"'
touch "$1/runs"
while :; do sleep 0.1; done
END
setsid bash "$WORK/bench" "$WORK" >"$WORK/out" 2>&1 &
told=$!
must "a benchmark runs" within 10 test -e "$WORK/runs"
within 10 told_to_end
ok "told twice, it does what it does when it ends" test -e "$WORK/ended"
done_testing
