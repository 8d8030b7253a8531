# SPDX-License-Identifier: Apache-2.0
# The packaged GlusterFS with a daemon of its own, for comparison; its bricks look for the daemon at the standard port. Source it with
#   gdir    everything lives below it    gport   TCP port of the daemon
# shellcheck shell=bash

# Measurements run in subshells, so what is running is asked of the pid file.
gluster_pid() {
  local pid
  pid=$(cat "$gdir/glusterd.pid" 2>/dev/null) && grep -qa "$gdir" "/proc/$pid/cmdline" 2>/dev/null && echo "$pid"
}

gg() { gluster --mode=script --glusterd-sock="$gdir/glusterd.socket" "$@"; }

gluster_up() { # VOLUME
  [ -n "$(gluster_pid)" ] && return 0
  rm -rf --one-file-system "$gdir" # of a run that was killed
  mkdir -p "$gdir"/{work,run,log,bricks,mnt}
  cat >"$gdir/glusterd.vol" <<VOL
volume management
    type mgmt/glusterd
    option working-directory $gdir/work
    option run-directory $gdir/run
    option glusterd-sockfile $gdir/glusterd.socket
    option transport-type socket
    option transport.address-family inet
    option transport.socket.bind-address 127.1.1.1
    option transport.socket.listen-port $gport
    option ping-timeout 0
    option base-port 59152
end-volume
VOL
  glusterd -f "$gdir/glusterd.vol" -p "$gdir/glusterd.pid" -l "$gdir/log/glusterd.log" || return 1
  wait_for 20 gg volume list || return 1
  gg volume info "$1" >/dev/null 2>&1 || gg volume create "$1" replica 3 127.1.1.1:"$gdir"/bricks/b{1,2,3} force >/dev/null || return 1
  gg volume info "$1" | grep -q '^Status: Started' || gg volume start "$1" >/dev/null || return 1
}

gluster_down() { # VOLUME
  [ -n "$(gluster_pid)" ] || return 0
  gg volume stop "$1" force >/dev/null 2>&1
  gg volume delete "$1" >/dev/null 2>&1
  kill "$(gluster_pid)" 2>/dev/null
  pkill -f "glusterfs.*$gdir" # its self-heal daemon
  rm -rf --one-file-system "$gdir"
}
