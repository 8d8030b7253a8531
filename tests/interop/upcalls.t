#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What a brick tells a client of what another client does, kind by kind: ours and GlusterFS's, against one text (upcalls.txt). Lines that
# begin with "-" are those that only GlusterFS's brick sends, with "+" those that only ours does.
. "$(dirname "$0")/../functional/lib.sh"
require_root
command -v setfattr >/dev/null || skip_all "needs setfattr"
make_work
pick_ports 2

volfile() { # BRICK PORT
  cat <<X
volume v-posix
    type storage/posix
    option directory $1
    option volume-id 8306d860-1111-4222-8333-444455556666
end-volume
volume v-access-control
    type features/access-control
    subvolumes v-posix
end-volume
volume v-locks
    type features/locks
    subvolumes v-access-control
end-volume
volume v-upcall
    type features/upcall
    option cache-invalidation on
    option cache-invalidation-timeout 77
    subvolumes v-locks
end-volume
volume $1
    type debug/io-stats
    subvolumes v-upcall
end-volume
volume v-server
    type protocol/server
    option transport-type tcp
    option transport.address-family inet
    option transport.socket.bind-address $HOST
    option transport.socket.listen-port $2
    option auth.addr.$1.allow *
    option auth-path $1
    subvolumes $1
end-volume
X
}

story() { # NAME PORT PROGRAM [ARG...]
  local b=$WORK/$1 port=$2 pid status
  shift 2
  mkdir -p "$b/.glusterfs/indices"
  setfattr -n trusted.glusterfs.volume-id -v 0x8306d860111142228333444455556666 "$b" || return 1
  volfile "$b" "$port" >"$b.vol"
  "$@" -f "$b.vol" -l "$b.log" -p "$b.pid" --brick-name "$b" --brick-port "$port" --xlator-option "v-server.listen-port=$port" || return 1
  within 10 listens "$port"
  "$GLUSTERISH_BUILDDIR/tests/interop/upcalls" "$HOST" "$port" "$b" >"$b.txt"
  status=$?
  pid=$(cat "$b.pid")
  kill "$pid"
  within 10 not_running "$pid"
  return $status
}
listens() { (exec 3<>"/dev/tcp/$HOST/$1") 2>/dev/null; }
expected() { sed -n "/^$1/d;s/^.//p" "${0%.t}.txt"; } # without the lines that begin so

ok "the story is told at a brick of ours" story ours $((BASE_PORT + 1)) "$GLUSTERISHFS"
is "$(cat "$WORK/ours.txt")" "$(expected -)" "our brick tells what it should"
if command -v glusterfsd >/dev/null; then
  ok "the story is told at a brick of GlusterFS" story real $((BASE_PORT + 2)) glusterfsd -S "$WORK/real.sock" --process-name brick
  is "$(cat "$WORK/real.txt")" "$(expected +)" "so does GlusterFS's"
fi
done_testing
