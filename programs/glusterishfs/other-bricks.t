#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A mount does what its volume is, or says that it cannot and stops: a plain volume that gets a second brick is spread over both from then on, and one whose
# graph becomes another altogether is not served as it was. The management daemon is a few lines that hand out a file.
. "$(dirname "$0")/../../tests/functional/lib.sh"
require_root
require_fuse
make_work
pick_ports 2
PIDS=()
trap 'end_processes "${PIDS[@]}"; cleanup' EXIT
mkdir -p "$WORK"/b1 "$WORK"/b2 "$WORK/mnt"

serve() { plain_brick "$1" && PIDS+=("$(cat "$WORK/b$1.pid")"); }

cat >"$WORK/daemon.py" <<'PY'
import os, select, socket, struct, sys
listener = socket.create_server((sys.argv[1], 0))
print(listener.getsockname()[1], flush=True)
peers, buf, shown = [], {}, 0
def opaque(b):
    return struct.pack(">I", len(b)) + b + b"\0" * (-len(b) % 4)
def send(s, msg):
    s.sendall(struct.pack(">I", 0x80000000 | len(msg)) + msg)
while True:
    for s in select.select([listener] + peers, [], [], 0.1)[0]:
        if s is listener:
            c = listener.accept()[0]
            peers.append(c)
            buf[c] = b""
            continue
        data = s.recv(65536)
        if not data:
            peers.remove(s)
            continue
        buf[s] += data
        while len(buf[s]) >= 4 and len(buf[s]) >= 4 + (struct.unpack(">I", buf[s][:4])[0] & 0x7fffffff):
            n = struct.unpack(">I", buf[s][:4])[0] & 0x7fffffff
            xid, text = buf[s][4:8], open(sys.argv[2], "rb").read()
            buf[s] = buf[s][4 + n:]
            send(s, xid + struct.pack(">IIIII", 1, 0, 0, 0, 0) + struct.pack(">II", len(text), 0) + opaque(text) + opaque(b""))
    now = os.stat(sys.argv[2]).st_mtime_ns
    if shown and now != shown:
        for s in peers:
            send(s, struct.pack(">IIIIII", 1, 0, 2, 52743234, 1, 1) + struct.pack(">IIII", 0, 0, 0, 0))
    shown = now
PY

ok "a brick serves" serve 1
ok "another one too" serve 2
plain_client 1 >"$WORK/client.vol"
python3 "$WORK/daemon.py" "$HOST" "$WORK/client.vol" >"$WORK/port" 2>"$WORK/daemon.err" &
PIDS+=($!)
within 10 test -s "$WORK/port"
PORT=$(cat "$WORK/port")
offer() {
  "$@" >"$WORK/new.vol"
  mv "$WORK/new.vol" "$WORK/client.vol"
}
must "the volume of one brick is mounted" mount_volume t "$WORK/mnt"
echo hello >"$WORK/mnt/file"
is "$(cat "$WORK/b1/file")" hello "and used"
LOG=$WORK/mount-mnt.log

LEVEL=DEBUG offer plain_client 1
ok "an option is followed" within 10 grep -q 'options of the new volfile are in force' "$LOG"
is "$(cat "$WORK/mnt/file")" hello "and the mount goes on"

mkdir "$WORK/mnt/dir"
exec 7>>"$WORK/mnt/file"
offer plain_client 1 2
ok "a second brick is taken" within 10 grep -q 'the volume is spread over 2 subvolumes now' "$LOG"
is "$(cat "$WORK/mnt/file")" hello "what was there is there"
echo more >&7
is "$(tail -1 "$WORK/b1/file")" more "what is open can be written"
mkdir "$WORK/mnt/new"
for i in $(seq 20); do touch "$WORK/mnt/new/$i"; done
is "$(ls "$WORK/mnt/new" | wc -l)" 20 "new files are made"
is "$(for b in b1 b2; do [ "$(ls "$WORK/$b/new" | wc -l)" -gt 0 ] && echo $b; done | tr '\n' ' ')" "b1 b2 " "on both"
is "$(ls "$WORK/mnt" | tr '\n' ' ')" "dir file new " "and all is listed"
exec 7>&-
unmount "$WORK/mnt"

rm -rf "$WORK/mnt/new" "$WORK"/b?/new "$WORK"/b?/dir
find "$WORK/b1" "$WORK/b2" -maxdepth 0 -exec setfattr -x trusted.glusterfs.dht {} \; 2>/dev/null
echo hello >"$WORK/b1/file"
offer plain_client 1
must "the volume of one brick is mounted again" mount_volume t "$WORK/mnt"
LOG=$WORK/mount-mnt.log
copies() { plain_client 1 2 | sed 's/cluster.distribute/cluster\/replicate/'; }

exec 7>>"$WORK/mnt/file"
offer copies
eio() { LC_ALL=C ls "$WORK/mnt/" 2>&1 | grep -q 'Input/output error'; }
ok "with a graph that it cannot follow everything fails" within 10 eio
nok "no file is made that others would not see" touch "$WORK/mnt/new"
nok "nor on what is open" sh -c 'echo more >&7'
is "$(ls "$WORK/b1" "$WORK/b2" | grep -c '^new$')" 0 "neither brick has it"
ok "the log says why" grep -q "the volume has other bricks now, which this version cannot follow: everything on $WORK/mnt fails with EIO" "$LOG"
ok "it is still mounted" grep -q " $WORK/mnt fuse" /proc/mounts
offer copies
sleep 0.5
ok "and goes on to refuse" eio

offer plain_client 1
ok "when the volume is as it was, so is the mount" within 10 touch "$WORK/mnt/again"
is "$(cat "$WORK/mnt/file")" hello "and what it shows"
exec 7>&-
unmount "$WORK/mnt"

# ---- what is refused for another reason ----

offer env REMOTE=192.0.2.1 bash -c "$(declare -f plain_client); HOST=$HOST BASE_PORT=$BASE_PORT WORK=$WORK; plain_client 1"
must "a mount may say where its brick is" mount_volume t "$WORK/mnt" "--xlator-option=t-client-0.remote-host=$HOST"
offer env REMOTE=192.0.2.1 LEVEL=nonsense bash -c "$(declare -f plain_client); HOST=$HOST BASE_PORT=$BASE_PORT WORK=$WORK; plain_client 1"
ok "a bad option is refused" within 10 grep -q 'new volfile refused, nothing was changed' "$LOG"
ok "and the mount goes on, its bricks are the same" touch "$WORK/mnt/on"
unmount "$WORK/mnt"

# ---- what is never mounted ----

{
  plain_client 1 2 | sed '/^volume t-dht/,$d'
  printf 'volume t-ta-2\n    type protocol/client\n    option remote-host %s\n    option remote-subvolume /ta\nend-volume\n' "$HOST"
  printf 'volume t-replicate-0\n    type cluster/replicate\n    option thin-arbiter %s:/ta\n' "$HOST"
  printf '    option afr-pending-xattr t-client-0,t-client-1,t-ta-2.x\n    subvolumes t-client-0 t-client-1 t-ta-2\nend-volume\n'
} >"$WORK/ta.vol"
like "$("$GLUSTERISHFS" -l "$WORK/ta.log" -f "$WORK/ta.vol" "$WORK/mnt" 2>&1)" \
  "volume t-replicate-0 has a thin arbiter \($HOST:/ta\), which this version does not have" "a volume with a thin arbiter is refused"
done_testing
