#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# glusterishfs by itself, without a management daemon: exit status and message when it cannot start, a brick, a mount of it, what
# signals do, the brick-op socket.
. "$(dirname "$0")/../../tests/functional/lib.sh"
require_root
make_work
PIDS=()
BRICK=$WORK/brick
mkdir -p "$BRICK" "$WORK/mnt" "$WORK/dump"
MOUNTS+=("$WORK/mnt")

fs() { "$GLUSTERISHFS" -l "$WORK/log" "$@"; }

# fails_with REGEX NAME ARGUMENT...: it does not start, and says why on stderr.
fails_with() {
  local regex=$1 name=$2 out status
  shift 2
  out=$(fs "$@" 2>&1 >/dev/null)
  status=$?
  if [ $status -ne 0 ]; then like "$out" "$regex" "$name"; else fail "$name" "it started"; fi
}

trap 'end_processes "${PIDS[@]}"; cleanup' EXIT

cat >"$WORK/brick.vol" <<EOF
volume t-posix
    type storage/posix
    option directory $BRICK
end-volume
volume $BRICK
    type features/locks
    subvolumes t-posix
end-volume
volume t-server
    type protocol/server
    option transport.socket.bind-address 127.0.0.1
    subvolumes $BRICK
end-volume
EOF

# ---- what cannot be started ----

fails_with 'no-such-file' "a missing volfile is named" -f "$WORK/no-such-file"
printf 'volume x\n    type storage/nonsense\nend-volume\n' >"$WORK/bad.vol"
fails_with 'storage/nonsense' "an unknown translator is named" -f "$WORK/bad.vol"
printf 'volume x\n    type features/worm\n    option worm on\n    subvolumes y\nend-volume\n' |
  cat <(printf 'volume y\n    type storage/posix\n    option directory %s\nend-volume\n' "$BRICK") - >"$WORK/worm.vol"
fails_with 'worm is switched on' "a missing translator that is switched on is refused" -f "$WORK/worm.vol"
sed "s|option directory .*|option directory $WORK/missing|" "$WORK/brick.vol" >"$WORK/missing.vol"
fails_with "$WORK/missing" "a missing brick directory is named" -f "$WORK/missing.vol"
fails_with 'management daemon' "an unreachable daemon is told" -s 127.0.0.1 --volfile-server-port 1 --volfile-id v
fails_with 'management daemon' "after as many attempts as were asked for" -s 127.0.0.1 --volfile-server-port 1 --volfile-id v \
  --volfile-max-fetch-attempts=2
is "$(grep -c 'attempt 1 of 2' "$WORK/log")" 1 "each but the last is logged"
fails_with 'worm is not available' "worm is refused" -f "$WORK/brick.vol" --worm "$WORK/mnt"
fails_with 'aux-gfid-mount is not available' "so are names by gfid" -f "$WORK/brick.vol" --aux-gfid-mount "$WORK/mnt"
fails_with 'no-root-squash is not available' "and what only the volume decides" -f "$WORK/brick.vol" --no-root-squash "$WORK/mnt"
fails_with 'no-such-dir' "what is off is not refused" -f "$WORK/brick.vol" --no-root-squash=off --secure-mgmt=no "$WORK/no-such-dir"
fails_with 'no-such-dir' "a missing mount point is named" -f "$WORK/brick.vol" "$WORK/no-such-dir"
"$GLUSTERISHFS" -l "$WORK/of/new/machine.log" -f "$WORK/no-such-file" 2>/dev/null
like "$(cat "$WORK/of/new/machine.log")" 'no-such-file' "directories of the log are made"
fails_with 'volfile' "nothing to load is an error"

# ---- a brick ----

start_brick() {
  fs -f "$WORK/brick.vol" -p "$WORK/brick.pid" -S "$WORK/brick.sock" --brick-name "$BRICK" --process-name brick \
    --statedump-dir "$WORK/dump" --xlator-option "t-server.listen-port=${BRICK_PORT:-0}" || return 1
  BRICK_PID=$(cat "$WORK/brick.pid")
  PIDS+=("$BRICK_PID")
  BRICK_PORT=$(grep -o 'listening on port [0-9]*' "$WORK/log" | tail -n 1 | grep -o '[0-9]*$')
}
if start_brick; then pass "a brick starts"; else fail "a brick starts" "$(tail -n 5 "$WORK/log")"; fi
ok "it takes a free port from 49152 to 60999" test "$BRICK_PORT" -ge 49152 -a "$BRICK_PORT" -le 60999
fails_with 'another process' "a second process with its pid file is refused" -f "$WORK/brick.vol" -p "$WORK/brick.pid"
kill -USR1 "$BRICK_PID"
dumped() { grep -q DUMP-END-TIME "$WORK"/dump/*"$BRICK_PID".dump.*; }
ok "USR1 writes a state dump" within 5 dumped
like "$(basename "$(echo "$WORK"/dump/*)")" "^${WORK//\//-}-brick\.$BRICK_PID\.dump\.[0-9]+\$|^[^/]*brick\.$BRICK_PID\.dump\.[0-9]+\$" \
  "it is named after the brick"
mv "$WORK/log" "$WORK/log.old"
kill -HUP "$BRICK_PID"
ok "HUP opens the log anew" within 5 test -f "$WORK/log"

# ---- the brick-op socket ----

# op PROCEDURE NAME CMD: op_ret, then the pairs of the answer.
op() {
  python3 - "$WORK/brick.sock" "$@" <<'PY'
import socket, struct, sys
path, proc, name, cmd = sys.argv[1], int(sys.argv[2]), sys.argv[3].encode(), sys.argv[4].encode() + b"\0"
def opaque(b): return struct.pack(">I", len(b)) + b + b"\0" * (-len(b) % 4)
pairs = struct.pack(">I", 1) + struct.pack(">II", 3, len(cmd)) + b"cmd\0" + cmd
msg = struct.pack(">IIIIIIIIII", 9, 0, 2, 4867634, 2, proc, 0, 0, 0, 0) + opaque(name) + struct.pack(">I", proc) + opaque(pairs) + opaque(b"")
s = socket.socket(socket.AF_UNIX)
s.settimeout(5)
s.connect(path)
s.sendall(struct.pack(">I", 0x80000000 | len(msg)) + msg)
data = b""
while len(data) < 4 or len(data) < (struct.unpack(">I", data[:4])[0] & 0x7fffffff) + 4:
    more = s.recv(65536)
    if not more:
        sys.exit("closed")
    data += more
body = data[28:]
ret, err, n = struct.unpack(">iiI", body[:12])
print("ret", ret)
d = body[12:12 + n]
if n:
    count, at = struct.unpack(">I", d[:4])[0], 4
    for _ in range(count):
        kl, vl = struct.unpack(">II", d[at:at + 8])
        print(d[at + 8:at + 8 + kl].decode(), d[at + 9 + kl:at + 9 + kl + vl].rstrip(b"\0").decode())
        at += 9 + kl + vl
PY
}
like "$(op 4 "" 2 | tr '\n' ' ')" '^ret 0 .*clientcount 0' "STATUS counts no client"
like "$(op 2 "$BRICK" 0 | head -n 1)" '^ret -1' "what is not offered is refused"

# ---- a mount of it ----

cat >"$WORK/client.vol" <<EOF
volume t-client-0
    type protocol/client
    option remote-host 127.0.0.1
    option remote-port $BRICK_PORT
    option remote-subvolume $BRICK
end-volume
EOF
if [ -c /dev/fuse ]; then
  held() { ! flock -n "$1" true; }
  mount_it() { fs -f "$WORK/client.vol" -p "$WORK/mount.pid" --statedump-dir "$WORK/dump" "$@" "$WORK/mnt"; }
  ok "it mounts" mount_it
  MOUNT_PID=$(cat "$WORK/mount.pid")
  PIDS+=("$MOUNT_PID")
  ok "the mount is there when the starter returns" mountpoint -q "$WORK/mnt"
  ok "a file can be written" sh -c "echo hello >'$WORK/mnt/file'"
  is "$(cat "$BRICK/file")" hello "and is on the brick"
  like "$(op 4 "" 2 | tr '\n' ' ')" 'client0.hostname 127.0.0.1:[0-9]+ client0.name fuse client0.bytesread [1-9][0-9]* client0.byteswrite [1-9].*clientcount 1' "STATUS shows the client"

  exec 7<"$WORK/mnt/file"
  kill -9 "$BRICK_PID"
  nok "without its brick the mount says so at once" timeout 5 ls "$WORK/mnt"
  if start_brick; then pass "the brick starts again"; else fail "the brick starts again" "$(tail -n 5 "$WORK/log")"; fi
  ok "and the mount goes on" within 15 ls "$WORK/mnt"
  is "$(cat <&7)" hello "with the file that was open"
  exec 7<&-

  ok "it can be unmounted" umount "$WORK/mnt"
  ok "unmounting ends the process" within 5 not_running "$MOUNT_PID"
  nok "and removes its pid file" test -e "$WORK/mount.pid"

  touch "$WORK/mount.pid"
  flock "$WORK/mount.pid" sh -c 'until [ -e "$1.seen" ]; do sleep 0.1; done; sleep 1; rm "$1"' - "$WORK/mount.pid" &
  ok "a process that still ends holds its pid file" within 5 held "$WORK/mount.pid"
  touch "$WORK/mount.pid.seen"
  ok "a mount waits for it" mount_it
  ok "and has the file of its own" kill -0 "$(cat "$WORK/mount.pid")"
  umount "$WORK/mnt"

  ok "a mount with options" mount_it --attribute-timeout=0 --entry-timeout=0 --read-only
  nok "read-only" touch "$WORK/mnt/other"
  MOUNT_PID=$(cat "$WORK/mount.pid")
  PIDS+=("$MOUNT_PID")
  kill -TERM "$MOUNT_PID"
  ok "TERM ends a mount" within 10 not_running "$MOUNT_PID"
  nok "and unmounts" mountpoint -q "$WORK/mnt"
else
  note "no /dev/fuse: the mount is not tested"
fi

like "$(op 1 "$BRICK" 0)" '^ret 0' "TERMINATE is answered"
ok "and ends the brick" within 10 not_running "$BRICK_PID"
nok "its socket goes too" test -e "$WORK/brick.sock"
done_testing
