#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What a brick tells a client of what another client does, kind by kind: ours and GlusterFS's, against one text (upcalls.txt). Lines that
# begin with "-" are those that only GlusterFS's brick sends, with "+" those that only ours does.
. "$(dirname "$0")/../functional/lib.sh"
require_root
command -v setfattr >/dev/null || skip_all "needs setfattr"
make_work
pick_ports 5
the_end() {
  local status=$? b
  for b in ours2 real2; do [ -f "$WORK/$b.pid" ] && kill "$(cat "$WORK/$b.pid")" 2>/dev/null; done
  (exit $status)
  cleanup
}
trap the_end EXIT

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

brick() { # NAME PORT PROGRAM [ARG...]
  local b=$WORK/$1 port=$2
  shift 2
  mkdir -p "$b/.glusterfs/indices"
  setfattr -n trusted.glusterfs.volume-id -v 0x8306d860111142228333444455556666 "$b" || return 1
  volfile "$b" "$port" >"$b.vol"
  "$@" -f "$b.vol" -l "$b.log" -p "$b.pid" --brick-name "$b" --brick-port "$port" --xlator-option "v-server.listen-port=$port" &&
    within 10 listens "$port"
}
brick_end() {
  local pid
  pid=$(cat "$WORK/$1.pid") && kill "$pid" && within 10 not_running "$pid"
}

story() { # NAME PORT PROGRAM [ARG...]
  local status
  brick "$@" || return 1
  "$GLUSTERISH_BUILDDIR/tests/interop/upcalls" "$HOST" "$2" "$WORK/$1" >"$WORK/$1.txt"
  status=$?
  brick_end "$1"
  return $status
}

client() { # BRICK PORT [LAYER [OPTION...]]
  printf 'volume c\n type protocol/client\n option remote-host %s\n option remote-port %s\n option remote-subvolume %s\n' "$HOST" "$2" "$1"
  printf ' option transport-type tcp\nend-volume\n'
  [ $# -lt 3 ] && return
  printf 'volume m\n type %s\n' "$3"
  shift 3
  printf ' option %s\n' "$@"
  printf ' subvolumes c\nend-volume\n'
}

# both BRICK PORT: GlusterFS and we mount it, each keeping what it knows for minutes.
# GlusterFS does not drop names for what it is told, so for those it gets a second.
both() {
  client "$WORK/$1" "$2" >"$WORK/$1-ours.vol"
  client "$WORK/$1" "$2" performance/md-cache "cache-invalidation on" "md-cache-timeout 600" >"$WORK/$1-real.vol"
  OURS=$WORK/$1-ours REAL=$WORK/$1-real
  mkdir -p "$OURS" "$REAL"
  MOUNTS+=("$OURS" "$REAL")
  "$GLUSTERISHFS" -f "$OURS.vol" -l "$OURS.log" --attribute-timeout=600 --entry-timeout=600 "$OURS" &&
    glusterfs -f "$REAL.vol" -l "$REAL.log" --attribute-timeout=600 --entry-timeout=1 "$REAL" &&
    within 10 mountpoint -q "$OURS" && within 10 stat -t "$REAL"
}
sees() { [ "$(stat -c '%s %a' "$1")" = "$2" ]; }
sees_not() { ! stat -t "$1" 2>/dev/null; }
# follows FROM TO WHO: what one does the other sees soon, though it keeps what it knows for minutes.
follows() {
  echo 1 >"$1/f"
  chmod 644 "$1/f"
  ok "$3 sees a file" within 20 sees "$2/f" "2 644"
  echo 1234 >"$1/f"
  chmod 600 "$1/f"
  ok "$3 sees its size and mode" within 20 sees "$2/f" "5 600"
  rm "$1/f"
  ok "$3 sees that it is gone" within 20 sees_not "$2/f"
}
listens() { (exec 3<>"/dev/tcp/$HOST/$1") 2>/dev/null; }
expected() { sed -n "/^$1/d;s/^.//p" "${0%.t}.txt"; } # without the lines that begin so

ok "the story is told at a brick of ours" story ours $((BASE_PORT + 1)) "$GLUSTERISHFS"
is "$(cat "$WORK/ours.txt")" "$(expected -)" "our brick tells what it should"
if command -v glusterfsd >/dev/null; then
  ok "the story is told at a brick of GlusterFS" story real $((BASE_PORT + 2)) glusterfsd -S "$WORK/real.sock" --process-name brick
  is "$(cat "$WORK/real.txt")" "$(expected +)" "so does GlusterFS's"
fi
if [ -c /dev/fuse ] && command -v glusterfsd >/dev/null && command -v glusterfs >/dev/null; then
  must "a brick of ours is there" brick ours2 $((BASE_PORT + 3)) "$GLUSTERISHFS"
  must "both mount it" both ours2 $((BASE_PORT + 3))
  follows "$OURS" "$REAL" "a client of GlusterFS at our brick"
  follows "$REAL" "$OURS" "ours beside it"
  must "a brick of GlusterFS is there" brick real2 $((BASE_PORT + 4)) glusterfsd -S "$WORK/real2.sock" --process-name brick
  must "both mount that" both real2 $((BASE_PORT + 4))
  follows "$REAL" "$OURS" "a client of ours at a brick of GlusterFS"
  for m in "${MOUNTS[@]}"; do unmount "$m"; done
  brick_end ours2
  brick_end real2
fi
done_testing
