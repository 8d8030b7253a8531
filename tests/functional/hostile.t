#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Bad input of every kind: each ends in a clear error that names the thing, an untouched volume, and processes that go on.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/bricks.sh"
require_root
require_fuse
start_glusterishd
must "the volume starts" start_volume host 3
must "it mounts" mount_volume host "$WORK/mnt"
cp -a "$GLUSTERISH_SRCDIR/doc" "$WORK/mnt/"
before=$(describe_tree "$WORK/mnt")
pids=$(for b in 1 2 3; do brick_pid host "$WORK/bricks/host-$b"; done | tr '\n' ' ')
brick_port() { gi volume status host --json | jq -r "[.. | objects | select(.path? == \"$WORK/bricks/host-$1\") | .port] | first"; }
port1=$(gi volume status host | awk -v b="bricks/host-1" 'index($0, b) {getline more; $0 = $0 more} /host-1/ {for (i = 1; i <= NF; i++) if ($i ~ /^[0-9]+$/ && $i > 1024) {print $i; exit}}')
like "$port1" '^[0-9]+$' "the port of brick 1 is known"

# send PORT|PATH: bytes of each kind of nonsense, one connection each; the peer may close, it must not die.
send() {
  python3 - "$HOST" "$1" <<'PY'
import os, random, socket, struct, sys
host, where = sys.argv[1:3]
rnd = random.Random(7)
def connect():
    if where.startswith("/"):
        s = socket.socket(socket.AF_UNIX)
        s.connect(where)
    else:
        s = socket.create_connection((host, int(where)))
    s.settimeout(2)
    return s
def mark(b, last=True):
    return struct.pack(">I", len(b) | (0x80000000 if last else 0)) + b
def call(prog, vers, proc, args=b"", cred=b"", flavour=0, rpcvers=2, xid=7):
    return struct.pack(">IIIIII", xid, 0, rpcvers, prog, vers, proc) + struct.pack(">II", flavour, len(cred)) + cred + struct.pack(">II", 0, 0) + args
bad = [b"", b"\0", b"GET / HTTP/1.0\r\n\r\n", os.urandom(10000), b"\xff" * 4096, struct.pack(">I", 0xffffffff), struct.pack(">I", 0x7fffffff) + b"x" * 100,
       mark(b""), mark(b"\0" * 3), mark(b"\0" * 40), mark(call(1298437, 400, 27, b"\xff" * 400)), mark(call(1298437, 400, 13, b"\0" * 20)),
       mark(call(99, 1, 1)), mark(call(1298437, 12, 1)), mark(call(1298437, 400, 4000)), mark(call(14398633, 2, 1, struct.pack(">I", 0xfffffff0))),
       mark(call(14398633, 2, 1, struct.pack(">I", 8) + struct.pack(">II", 0xffffffff, 5))), mark(call(123451501, 1, 2, cred=b"z" * 400, flavour=390040)),
       mark(call(123451501, 1, 2, cred=b"z" * 5000, flavour=390040)), mark(call(1, 2, 3, rpcvers=9)), mark(call(34123456, 1, 1, b"\0\0\0\x0a" + b"/" * 3)),
       mark(call(1238463, 2, 4, struct.pack(">I", 100) + b"{" * 100)), mark(call(4867634, 2, 1, b"\xff" * 64)),
       b"".join(mark(call(123451501, 1, 2), last=False) for _ in range(2000))]
for i in range(300):
    p, v = rnd.choice([(1298437, 400), (14398633, 2), (123451501, 1), (34123456, 1), (1238463, 2), (4867634, 2)])
    bad.append(mark(call(p, v, rnd.randrange(60), rnd.randbytes(rnd.randrange(600)), rnd.randbytes(rnd.randrange(100)), rnd.choice([0, 390039, 390040]))))
for b in bad:
    try:
        s = connect()
        s.sendall(b)
        s.shutdown(socket.SHUT_WR)
        while s.recv(65536):
            pass
    except (ConnectionError, socket.timeout, BrokenPipeError):
        pass
    finally:
        s.close()
# A record that never ends, left open while others work.
s = connect()
s.sendall(struct.pack(">I", 0x80100000) + b"abc")
s2 = connect()
s2.settimeout(20)
s2.sendall(mark(call(123451501, 1, 2)))
sys.exit(0 if s2.recv(100) else 1)
PY
}

ok "a brick survives nonsense and answers pings" send "$port1"
ok "the daemon survives nonsense" send "$PORT"
ok "so does its socket for the command line" timeout 60 bash -c "$(declare -f send); HOST=$HOST; send $SOCK; true"
is "$(for b in 1 2 3; do brick_pid host "$WORK/bricks/host-$b"; done | tr '\n' ' ')" "$pids" "the bricks are the same processes"
for p in $pids $DAEMON_PID; do ok "process $p runs" kill -0 "$p"; done
is "$(describe_tree "$WORK/mnt")" "$before" "the volume is untouched"

# ---- a client graph with something wrong ----

# try_volfile TEXT: what a client says to it; must fail in bounded time.
try_volfile() {
  printf '%s' "$1" >"$WORK/bad.vol"
  mkdir -p "$WORK/bad"
  timeout 60 "$GLUSTERISHFS" -f "$WORK/bad.vol" -l "$WORK/bad.log" "$WORK/bad" 2>&1
  local rc=$?
  mountpoint -q "$WORK/bad" && umount -l "$WORK/bad"
  cat "$WORK/bad.log" 2>/dev/null
  rm -f "$WORK/bad.log"
  return $rc
}

client_volfile() { # BRICKPORT SUBVOLUME [USER PASSWORD]
  cat <<VOL
volume c
    type protocol/client
    option remote-host $HOST
    option remote-port $1
    option remote-subvolume $2
${3:+    option username $3
    option password $4
}end-volume
VOL
}

like "$(try_volfile 'volume a
 type debug/trace
 subvolumes b
end-volume
volume b
 type debug/trace
 subvolumes a
end-volume')" 'b' "a loop in a volfile is named"
like "$(try_volfile 'volume a
 type debug/trace
 subvolumes a
end-volume')" 'a' "so is a volume below itself"
like "$(try_volfile 'volume a
 type cluster/wishful
end-volume')" 'cluster/wishful' "an unknown translator is named"
like "$(try_volfile 'volume a
 type storage/posix
 option directory /nowhere/at/all
end-volume')" '/nowhere/at/all' "a missing brick directory is named"
like "$(try_volfile 'volume a type')" 'line' "a truncated volfile is refused"
like "$(try_volfile "$(head -c 5000 /dev/urandom | tr -d '\000')")" '.' "noise is refused"
like "$(try_volfile "$(client_volfile "$port1" /no/such/brick)")" '/no/such/brick' "a wrong subvolume is named"
user=$(sed -n 's/^username=//p' "$WORK/d/vols/host/info")
like "$(try_volfile "$(client_volfile "$port1" "$WORK/bricks/host-1" "$user" wrong)")" '[Aa]uth' "a wrong password is refused"
nok "an unknown volume cannot be mounted" timeout 60 "$GLUSTERISHFS" -s "$HOST" --volfile-server-port "$PORT" --volfile-id nosuch -l "$WORK/no.log" "$WORK/bad"

# ---- bricks ----
out=$(gi volume create other "$HOST:$WORK/bricks/host-1" 2>&1)
like "$out" "not available" "a brick of another volume is refused"
like "$out" "$WORK/bricks/host-1" "and named"
mv "$WORK/bricks/host-3" "$WORK/bricks/away"
kill -9 "$(brick_pid host "$WORK/bricks/host-3")"
sleep 0.5
out=$(gi volume start host force 2>&1; cat "$WORK"/d/log/bricks/*host-3* "$WORK"/d/logs/bricks/*host-3* 2>/dev/null)
like "$out" "bricks/host-3" "a brick directory that went away is named"
mv "$WORK/bricks/away" "$WORK/bricks/host-3"
is "$(describe_tree "$WORK/mnt")" "$before" "the volume still serves with two bricks"
ok "the brick comes back" gi volume start host force

# A brick directory that belongs to another volume: its id says so.
mkdir -p "$WORK/bricks/foreign"
setfattr -n trusted.glusterfs.volume-id -v 0x00112233445566778899aabbccddeeff "$WORK/bricks/foreign"
like "$(try_volfile "volume p
 type storage/posix
 option directory $WORK/bricks/foreign
 option volume-id 11111111-2222-3333-4444-555555555555
end-volume")" "bricks/foreign" "a directory of another volume is refused by the brick"

# ---- a full disk ----
mkdir -p "$WORK/small" && mount -t tmpfs -o size=24m tmpfs "$WORK/small" && MOUNTS+=("$WORK/small")
if ok "a volume on a small disk" gi volume create small "$HOST:$WORK/small/b" force && gi volume start small >/dev/null && mount_volume small "$WORK/full"; then
  out=$(dd if=/dev/zero of="$WORK/full/big" bs=1M count=64 2>&1)
  like "$out" 'No space left' "a full disk says so"
  rm -f "$WORK/full/big"
  ok "and is usable again once there is room" dd if=/dev/zero of="$WORK/full/again" bs=1M count=4
  umount "$WORK/full"
  gi volume stop small force >/dev/null
fi

# ---- the command line ----
for bad in "volume create ../x $HOST:/tmp/x" "volume create x relative" "volume start nosuch" "volume set host no.such.key 1" "volume set host network.ping-timeout banana" \
  "volume set host network.ping-timeout 99999999" "volume frobnicate" "nonsense" "volume create $(printf 'v%.0s' {1..2000}) $HOST:/tmp/x"; do
  if out=$(gi $bad 2>&1); then fail "refused: ${bad:0:60}" "$out"; else pass "refused: ${bad:0:60}"; fi
done
is "$(gi volume list | grep -c host)" 1 "the daemon goes on"
is "$(describe_tree "$WORK/mnt")" "$before" "the volume is untouched at the end"
done_testing
