# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Three bricks, replicate mounts and self-heal daemons, each ours or of the packaged GlusterFS, all from hand-written volfiles and
# without a management daemon. Source after tests/functional/lib.sh.
#
#   interop_begin real|ours     # bricks served by GlusterFS or by us; sets WORK and starts them
#   interop_mount ours DIR [OPTION...]   # with us, or `real` with GlusterFS; options of cluster/replicate
#   interop_shd real|ours       # GlusterFS's self-heal daemon or ours; shd_stop real|ours SIGNAL
#   brick_stop N; brick_start N; marks N FILE
#   GRANULAR=off                # before mounts and daemons: entries are not healed by their names
#   ARBITER=3                   # before interop_begin: the third brick keeps no data
#   TLS=DIR                     # before both: connections are in TLS, with brick.* and client.* and ours.ca of tls_files DIR
#   ALLOW=NAMES                 # and the bricks want one of these names
#   RELAY=N                     # mounts find the bricks at ports higher by N

VOLUME_ID=8306d860-1111-4222-8333-444455556666
: "${GLUSTERISHFS:=$GLUSTERISH_BUILDDIR/glusterishfs}"

require_glusterfs() {
  require_root
  require_fuse
  command -v glusterfsd >/dev/null && command -v glusterfs >/dev/null || skip_all "needs the packaged GlusterFS"
  command -v setfattr >/dev/null || skip_all "needs setfattr"
}

# tls_certificate DIR NAME CN: signed by DIR/ours.
tls_certificate() {
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$1/$2.key" -out "$1/$2.csr" -subj "/CN=$3" 2>/dev/null &&
    openssl x509 -req -in "$1/$2.csr" -CA "$1/ours.ca" -CAkey "$1/ours.key" -CAcreateserial -days 2 -out "$1/$2.pem" 2>/dev/null
}

tls_files() {
  mkdir -p "$1" &&
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$1/ours.key" -out "$1/ours.ca" -subj /CN=ours -days 2 2>/dev/null &&
    tls_certificate "$1" brick node-1 && tls_certificate "$1" client joe
}

tls_lines() {
  [ -n "${TLS:-}" ] || return 0
  echo "    option transport.socket.ssl-enabled on"
  echo "    option transport.socket.ssl-own-cert $TLS/$1.pem"
  echo "    option transport.socket.ssl-private-key $TLS/$1.key"
  echo "    option transport.socket.ssl-ca-list $TLS/ours.ca"
}

brick_top() { if [ "$BRICKS" = real ]; then echo "$WORK/b$1"; else echo v-index; fi; }

brick_volfile() {
  local b=$WORK/b$1 below=v-posix top
  top=$(brick_top "$1")
  cat <<X
volume v-posix
    type storage/posix
    option directory $b
    option volume-id $VOLUME_ID
end-volume
X
  [ "${ARBITER:-}" = "$1" ] && printf 'volume v-arbiter\n    type features/arbiter\n    subvolumes v-posix\nend-volume\n' && below=v-arbiter
  cat <<X
volume v-access-control
    type features/access-control
    subvolumes $below
end-volume
volume v-locks
    type features/locks
    subvolumes v-access-control
end-volume
volume v-io-threads
    type performance/io-threads
    subvolumes v-locks
end-volume
volume v-index
    type features/index
    option index-base $b/.glusterfs/indices
    option xattrop-dirty-watchlist trusted.afr.dirty
    option xattrop-pending-watchlist trusted.afr.v-
    subvolumes v-io-threads
end-volume
X
  [ "$BRICKS" = real ] && printf 'volume %s\n    type debug/io-stats\n    subvolumes v-index\nend-volume\n' "$top"
  cat <<X
volume v-server
    type protocol/server
    option transport-type tcp
    option transport.address-family inet
    option transport.socket.bind-address $HOST
    option transport.socket.listen-port $((BASE_PORT + $1))
    option auth.addr.$top.allow *
    option auth-path $top
$(tls_lines brick)
${ALLOW:+    option auth.login.$top.ssl-allow $ALLOW}
    subvolumes $top
end-volume
X
}

client_volfile() {
  local i o
  for i in 1 2 3; do
    cat <<X
volume v-client-$((i - 1))
    type protocol/client
    option remote-host $HOST
    option remote-port $((BASE_PORT + i + ${RELAY:-0}))
    option remote-subvolume $(brick_top $i)
    option transport-type tcp
    option transport.address-family inet
    option ping-timeout 5
$(tls_lines client)
end-volume
X
  done
  echo "volume v-replicate-0"
  echo "    type cluster/replicate"
  echo "    option afr-pending-xattr v-client-0,v-client-1,v-client-2"
  echo "    option volume-id $VOLUME_ID"
  echo "    option granular-entry-heal ${GRANULAR:-on}"
  echo "    option use-anonymous-inode yes"
  [ -n "${ARBITER:-}" ] && echo "    option arbiter-count 1"
  for o in "$@"; do echo "    option $o"; done
  echo "    subvolumes v-client-0 v-client-1 v-client-2"
  echo "end-volume"
}

brick_start() {
  local b=$WORK/b$1 port=$((BASE_PORT + $1)) program=$GLUSTERISHFS
  local args=(-f "$b.vol" -l "$b.log" -p "$b.pid" --brick-name "$b" --brick-port "$port" --xlator-option "v-server.listen-port=$port")
  [ "$BRICKS" = real ] && program=glusterfsd && args+=(-S "$b.sock" --process-name brick)
  "$program" "${args[@]}"
}

end_process() {
  local pid
  pid=$(own_pids "$1")
  [ -n "$pid" ] || return 0
  kill "-$2" "$pid" 2>/dev/null
  within 10 not_running "$pid"
}

brick_stop() { end_process "$WORK/b$1.pid" KILL; }

interop_begin() {
  local i
  BRICKS=$1
  make_work
  pick_ports 4
  for i in 1 2 3; do
    mkdir -p "$WORK/b$i/.glusterfs/indices"
    setfattr -n trusted.glusterfs.volume-id -v "0x${VOLUME_ID//-/}" "$WORK/b$i" || skip_all "needs trusted xattrs"
    brick_volfile $i >"$WORK/b$i.vol"
    brick_start $i || return 1
  done
  trap 'interop_end' EXIT
}

interop_mount() {
  local who=$1 dir=$2 program=$GLUSTERISHFS
  shift 2
  [ "$who" = real ] && program=glusterfs
  mkdir -p "$dir"
  MOUNTS+=("$dir")
  client_volfile "$@" >"$WORK/mount-${dir##*/}.vol"
  mounted "$program" "$dir" && return
  [ "$who" = real ] || return 1
  unmount "$dir" # theirs does not always come up at once on a busy machine, and is not what is tested
  mounted "$program" "$dir"
}

# mounted PROGRAM DIR: it mounts its volfile there, and answers.
mounted() {
  local at=$WORK/mount-${2##*/}
  "$1" -f "$at.vol" -l "$at.log" -p "$at.pid" --acl "$2" || return 1
  within 20 mountpoint -q "$2" && within 20 stat -t "$2"
}

interop_shd() {
  local who=$1 program=glusterfs timeout=5
  [ "$who" = ours ] && program=$GLUSTERISHFS && timeout=60 # the least that the option's table allows
  client_volfile "iam-self-heal-daemon yes" "self-heal-daemon enable" "data-self-heal on" "metadata-self-heal on" \
    "entry-self-heal on" "background-self-heal-count 0" "heal-timeout $timeout" >"$WORK/shd.vol"
  printf 'volume v\n    type debug/io-stats\n    subvolumes v-replicate-0\nend-volume\n' >>"$WORK/shd.vol"
  "$program" -f "$WORK/shd.vol" -l "$WORK/shd-$who.log" -p "$WORK/shd-$who.pid" -S "$WORK/shd-$who.sock" --process-name glustershd \
    --client-pid=-6 --xlator-option '*replicate*.node-uuid=11111111-2222-3333-4444-555555555555'
}

# shd_stop WHO SIGNAL
shd_stop() { end_process "$WORK/shd-$1.pid" "$2"; }

interop_end() {
  local status=$? dir pids
  for dir in "${MOUNTS[@]}"; do unmount "$dir"; done # also one whose process died
  mapfile -t pids < <(own_pids "$WORK"/mount-*.pid "$WORK"/shd-*.pid "$WORK"/b?.pid)
  end_processes "${pids[@]}"
  (exit $status)
  cleanup
}

# The counters of a file on one brick: "client-2=0x… dirty=0x…", zero values left out.
marks() {
  getfattr -h -d -m 'trusted.afr' -e hex --absolute-names "$WORK/b$1/$2" 2>/dev/null | sed -n 's/^trusted.afr.\(v-\)\?//p' |
    grep -v '=0x000000000000000000000000$' | sort | tr '\n' ' ' | sed 's/ $//'
}

# Names of objects in the heal indices of all bricks.
index_count() { ls "$WORK"/b?/.glusterfs/indices/{xattrop,dirty} 2>/dev/null | grep -cE '^[0-9a-f]{8}-[0-9a-f-]{27}$'; }
indices_empty() { [ "$(index_count)" = 0 ]; }
# No copy is blamed by another: what is dirty only because it is being written does not count.
pending_empty() { ! ls "$WORK"/b?/.glusterfs/indices/xattrop 2>/dev/null | grep -qE '^[0-9a-f]{8}-[0-9a-f-]{27}$'; }

# Type, mode, size, link count and path of everything, and the contents, of one brick.
tree_of() {
  (cd "$WORK/b$1" && find . -name '.glusterfs*' -prune -o -printf '%y %m %s %n %p\n' | sort -k5 &&
    find . -name '.glusterfs*' -prune -o -type f -print | sort | xargs -r md5sum)
}
