#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Errors that hit what was answered already: each descriptor that was open is told, with each layer for speed and with each two of them; and
# so it is when the quorum is lost.
. "$(dirname "$0")/lib.sh"
require_root
require_fuse
make_work
table=$GLUSTERISH_SRCDIR/tests/functional/cached-errors.py
BRICK_PID=
end_brick() { [ -n "$BRICK_PID" ] && kill "$BRICK_PID" 2>/dev/null && within 10 not_running "$BRICK_PID"; }
end_mounts() { for m in "$WORK"/mnt-*; do mountpoint -q "$m" && MOUNTS+=("$m"); done; }
trap 'end_mounts; end_brick; cleanup' EXIT

# brick NAME: starts it from that volfile.
brick() {
  "$GLUSTERISHFS" -f "$WORK/$1.vol" -l "$WORK/$1.log" -p "$WORK/brick.pid" --brick-name "$WORK/brick" --process-name brick \
    --xlator-option t-server.listen-port=0 || return 1
  BRICK_PID=$(cat "$WORK/brick.pid")
  port=$(grep -o 'listening on port [0-9]*' "$WORK/$1.log" | grep -o '[0-9]*$')
}
must "volfiles are written" python3 "$table" "$WORK"
must "a brick starts" brick fill
must "its files are made" python3 "$table" "$WORK" "$port" fill
must "it stops" end_brick
must "it starts again, and takes no WRITE" brick brick
ok "every mount was tried" timeout 100 python3 "$table" "$WORK" "$port"
note "$OUTPUT"
is "$(grep '^wrong' <<<"$OUTPUT")" "" "each descriptor was told what happened, once, and nothing of it is shown"
like "$OUTPUT" '[1-9][0-9]{2} writes answered' "and many of the writes had been answered before"

# ---- two of three bricks die while they have what was written ----

start_glusterishd >/dev/null
must "a volume of three is there" start_volume q 3
for layer in io-cache read-ahead readdir-ahead nl-cache quick-read open-behind; do gi volume set q performance.$layer on >/dev/null; done
must "it is mounted" mount_volume q "$WORK/q"
told=$WORK/told
python3 - "$WORK/q" "$WORK/again" "$(brick_pid q "$WORK/bricks/q-2")" "$(brick_pid q "$WORK/bricks/q-3")" >"$told" 2>&1 <<'PY' &
import os, signal, sys, time
top, again, bricks = sys.argv[1], sys.argv[2], [int(pid) for pid in sys.argv[3:]]
def err(fn, *args):
    try:
        fn(*args)
        return "no error"
    except OSError as e:
        return "an error"
a = os.open(top + "/f", os.O_CREAT | os.O_RDWR)
b = os.open(top + "/f", os.O_RDWR)
os.write(a, b"safe")
os.fsync(a)
os.fstat(a)
for pid in bricks:
    os.kill(pid, signal.SIGSTOP)
print("write:", err(os.pwrite, a, b"lost", 0), flush=True)
for pid in bricks:
    os.kill(pid, signal.SIGKILL)
while not os.path.exists(again):
    time.sleep(0.05)
print("fsync:", err(os.fsync, b), err(os.fsync, a), flush=True)
print("again:", err(os.fsync, b), err(os.fsync, a), flush=True)
PY
writer=$!
ok "it is answered" within 15 grep -q "write: no error" "$told"
two_are_gone() { not_running "$(brick_pid q "$WORK/bricks/q-2")" && not_running "$(brick_pid q "$WORK/bricks/q-3")"; }
ok "two bricks die" within 15 two_are_gone
nok "nothing can be made without them" touch "$WORK/q/new"
ok "they are started again" gi volume start q force
ok "files can be made again" within 30 touch "$WORK/q/new"
touch "$WORK/again"
ok "the writer ends" wait $writer
like "$(cat "$told")" "fsync: an error an error" "each descriptor is told though all is well by then"
like "$(cat "$told")" "again: no error no error" "and once"
done_testing
