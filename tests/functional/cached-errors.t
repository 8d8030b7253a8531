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
done_testing
