#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Who may ask the management daemon for what: an unprivileged user of this machine and a host that no volume lists try everything.
NS=glusterish-doors-$$ NET=10.213.$((RANDOM % 250))
HOST=$NET.1
. "$(dirname "$0")/lib.sh"
require_root
command -v setpriv >/dev/null && command -v ip >/dev/null || skip_all "needs setpriv and ip"
ip netns add "$NS" 2>/dev/null && ip link add "gd$$" type veth peer name eth0 netns "$NS" 2>/dev/null ||
  { ip netns del "$NS" 2>/dev/null; skip_all "needs network namespaces"; }
trap 'ip netns del "$NS"; cleanup' EXIT
ip addr add "$NET.1/24" dev "gd$$" && ip link set "gd$$" up
ip -n "$NS" addr add "$NET.2/24" dev eth0 && ip -n "$NS" link set eth0 up
start_glusterishd
must "a volume starts" start_volume door 3
gi volume set door auth.allow 192.0.2.1 >/dev/null
B=$WORK/bricks/door-1 DASHED=
DASHED=${B#/} DASHED=${DASHED//\//-}
port=$(awk -F= '/^listen-port/ {print $2}' "$WORK/d/vols/door/bricks/$HOST:-$DASHED")
like "$port" '^[0-9]+$' "the port of a brick is known"

# ask PROGRAM-VERSION-PROCEDURE ARGUMENTS...: a call to the daemon; prints what came of it. An argument is a number or a string.
cat >"$WORK/ask.py" <<'PY'
import socket, struct, sys
host, port, what, args = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4:]
prog, vers, proc = {"getspec": (14398633, 2, 2), "volinfo": (14398633, 2, 6), "portbybrick": (34123456, 1, 1), "signin": (34123456, 1, 4),
                    "signout": (34123456, 1, 5)}.get(what) or (1238463, 2, int(what))
def opaque(b):
    return struct.pack(">I", len(b)) + b + b"\0" * (-len(b) % 4)
def dict_(key, value):
    return opaque(struct.pack(">III", 1, len(key), len(value) + 1) + key + b"\0" + value + b"\0")
body = b""
if what == "getspec":
    body = struct.pack(">I", 0) + opaque(args[0].encode()) + dict_(b"max-op-version", b"100000")
elif what == "volinfo":
    body = dict_(b"volname", args[0].encode())
elif prog == 34123456:
    body = opaque(args[0].encode()) + b"".join(struct.pack(">I", int(a)) for a in args[1:])
else:
    body = dict_(b"json", args[0].encode())
call = struct.pack(">IIIIII", 7, 0, 2, prog, vers, proc) + struct.pack(">IIII", 0, 0, 0, 0) + body
s = socket.create_connection((host, port), 10)
s.sendall(struct.pack(">I", len(call) | 0x80000000) + call)
def more(n):
    b = b""
    while len(b) < n:
        got = s.recv(n - len(b))
        if not got:
            sys.exit("closed")
        b += got
    return b
r = more(struct.unpack(">I", more(4))[0] & 0x7fffffff)
accept = struct.unpack(">I", r[20:24])[0]
if accept:
    print("unavailable")
    sys.exit(0)
words = struct.unpack(">%dI" % min(4, len(r[24:]) // 4), r[24:24 + 4 * min(4, len(r[24:]) // 4)])
if what == "portbybrick":
    print("port", words[3])
elif words[0] == 0xffffffff:
    print("refused", words[1])
else:
    print("password" if b"password" in r else "answered")
PY
chmod 755 "$WORK"
chmod 644 "$WORK/ask.py"
root() { timeout 20 python3 "$WORK/ask.py" "$HOST" "$PORT" "$@" 2>&1; }
user() { setpriv --reuid 65534 --regid 65534 --clear-groups timeout 20 python3 "$WORK/ask.py" "$HOST" "$PORT" "$@" 2>&1; }
host() { nsenter --net="/run/netns/$NS" timeout 20 python3 "$WORK/ask.py" "$HOST" "$PORT" "$@" 2>&1; }

# walk WHO WHAT... : what each of them gets, one line each.
walk() {
  local who=$1
  echo "client $($who getspec door)"
  echo "shd $($who getspec shd/door)"
  echo "brick $($who getspec "door.$HOST.$DASHED")"
  echo "port $($who portbybrick "$B")"
  echo "id $($who volinfo door)"
  echo "signout $($who signout "$B" "$port" 0)"
  echo "signin $($who signin "$B" 31337 0)"
  echo "list $($who 33 '{"command":"volume list"}')"
  echo "set $($who 12 '{"command":"volume set","volume":"door","pairs":["user.a","b"]}')"
  echo "hidden $($who 33 '{"command":"volume stop","volume":"door"}')"
}
# little PORT ID: what is told to whoever is no root.
little() {
  echo "shd refused 13
brick refused 13
port port $1
id $2
signout refused 2
signin refused 13
list unavailable
set unavailable
hidden unavailable"
}
is "$(walk user)" "client refused 13
$(little 0 "refused 22")" "a user of this machine whom auth.allow does not list gets no volfile, sees nothing and changes nothing"
is "$(walk host)" "client refused 13
$(little 0 "refused 22")" "nor does a host that no volume lists"
gi volume set door auth.allow "$NET.2" >/dev/null
is "$(walk host)" "client answered
$(little "$port" answered)" "one that it lists is told where the bricks are"
gi volume set door auth.allow '*' >/dev/null
is "$(walk user)" "client answered
$(little "$port" answered)" "where all may mount a user gets the volfile, without the password"
gi volume set door auth.allow 192.0.2.1 >/dev/null
is "$(walk root)" "client password
shd password
brick password
port port $port
id answered
signout refused 2
signin refused 13
list answered
set unavailable
hidden refused 95" "root gets the password; it is no brick either and commands come over the unix socket"
is "$(root portbybrick "$B")" "port $port" "the brick is where it was"

# ---- each refusal stands in the log, a flood of them does not ----

for _ in 1 2 3 4 5 6 7 8 9 10 11 12; do user signin "$B" 31337 0 >/dev/null; done
refusals() { grep -c 'SIGNIN or SIGNOUT is refused' "$WORK/d/log/glusterishd.log"; }
ok "refusals are logged" test "$(refusals)" -ge 5
ok "not every one of many" test "$(refusals)" -le 12
for what in 'the place of door is refused' 'of a brick or self-heal daemon is refused' 'a command is refused'; do
  ok "the log says: $what" grep -q "$what" "$WORK/d/log/glusterishd.log"
done

# ---- the unix socket ----

is "$(stat -c '%a %u' "$SOCK")" "600 0" "the socket of the command line is root's"
chmod 755 "$WORK/d"
nok "another user cannot use it" setpriv --reuid 65534 --regid 65534 --clear-groups "$GLUSTERISH" --mode=script "--glusterd-sock=$SOCK" volume stop door
is "$(gi volume info door | awk '/^Status/ {print $2}')" "Started" "the volume is as it was"

# ---- bricks still sign in and out ----

stop_glusterishd
start_glusterishd
port_known() { [ "$(root portbybrick "$B")" = "port $port" ]; }
within 10 port_known
is "$(root portbybrick "$B")" "port $port" "bricks are known to the next daemon"
kill "$(brick_pid door "$B")"
ok "a brick that ends signs itself out" within 10 bash -c "$(declare -f root); WORK=$WORK HOST=$HOST PORT=$PORT; test \"\$(root portbybrick $B)\" = 'port 0'"
ok "the volume starts again with force" gi volume start door force
like "$(root portbybrick "$B")" '^port [1-9]' "and the brick signs in"
done_testing
