# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The packaged GlusterFS with its management daemon, in namespaces: its ports, its processes, and the directories that it knows by name are
# this test's alone, and end with it. Source it before anything else; the test begins anew there. Then:
#
#   start_glusterd              # sets ADDRESS, which bricks are named by
#   gl volume create …          # its command line
#   mount_theirs VOLUME DIR
#   rebalanced VOLUME, removed VOLUME BRICK…   # true when that has come to its end

if [ -z "${IN_NAMESPACES:-}" ]; then
  command -v glusterd >/dev/null && command -v gluster >/dev/null || { echo "1..0 # SKIP needs the packaged GlusterFS"; exit 0; }
  unshare --mount --net --pid --fork true 2>/dev/null || { echo "1..0 # SKIP needs namespaces"; exit 0; }
  IN_NAMESPACES=1 exec unshare --mount --net --pid --fork --kill-child --mount-proc -- "$(dirname "$0")/../functional/own-mounts" bash "$0" "$@"
fi
ADDRESS=10.99.0.1
gl() { gluster --mode=script "$@"; }

start_glusterd() {
  local dir
  make_work
  ip link set lo up && ip address add "$ADDRESS/24" dev lo || return 1
  mkdir -p /var/lib/glusterd /var/log/glusterfs
  for dir in /run /var/lib/glusterd /var/log/glusterfs; do mount -t tmpfs tmpfs "$dir" || return 1; done
  # At its start it asks the program for the replication between sites two dozen times, in Python: ten seconds on a busy machine.
  printf '#!/bin/sh\necho gsyncd 0.0.1\n' >"$WORK/gsyncd" && chmod +x "$WORK/gsyncd" || return 1
  for dir in /usr/lib/*/glusterfs/gsyncd /usr/lib*/glusterfs/gsyncd /usr/libexec/glusterfs/gsyncd; do
    [ ! -e "$dir" ] || mount --bind "$WORK/gsyncd" "$dir" || return 1
  done
  glusterd --log-level WARNING --pid-file "$WORK/theirs-d.pid" && within 20 gl pool list
}

stop_glusterd() {
  local pids
  mapfile -t pids < <(pgrep -x glusterd; pgrep -x glusterfsd; pgrep -f 'process-name (glustershd|rebalance|brick)') # of this namespace
  end_processes "${pids[@]}"
}

mount_theirs() {
  mkdir -p "$2"
  MOUNTS+=("$2")
  glusterfs -s "$ADDRESS" --volfile-id "$1" --acl -l "$WORK/mount-${2##*/}.log" -p "$WORK/mount-${2##*/}.pid" "${@:3}" "$2" &&
    within 20 mountpoint -q "$2" && within 20 stat -t "$2"
}

mover_pid() { pgrep -f 'process-name rebalance'; }
rebalanced() { gl volume rebalance "$1" status | grep -q completed; }
removed() { gl volume remove-brick "$@" status | grep -q completed; }
