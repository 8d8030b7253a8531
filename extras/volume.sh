# SPDX-License-Identifier: Apache-2.0
# A private glusterish installation in a directory of its own: daemon, replica-3 volume, mounts. Source it after lib.sh with
#   dir     everything lives below it        port    TCP port of the daemon on $host
#   volume  the volume's name                sbin    where the programs are
# shellcheck shell=bash

host=127.1.1.1 # this machine; a brick's address may not be 127.0.0.1

gi() { "$sbin/glusterish" --mode=script --glusterd-sock="$dir/glusterishd/glusterishd.socket" "$@"; }

# The pid in the file, if that process belongs to this directory.
pid_in() {
  local pid
  pid=$(cat "$1" 2>/dev/null) && [ -n "$pid" ] && { tr '\0' ' ' <"/proc/$pid/cmdline"; } 2>/dev/null | grep -q "$dir" && echo "$pid"
}

# Every process that was started for this directory, daemons and mounts alike.
our_pids() {
  local p
  for p in /proc/[0-9]*; do
    case $({ tr '\0' ' ' <"$p/cmdline"; } 2>/dev/null) in
    *glusterish*"$dir/"*) echo "${p#/proc/}" ;;
    esac
  done
}

daemon_up() {
  mkdir -p "$dir"/{bricks,glusterishd,log,run} || die "cannot make $dir"
  [ -n "$(pid_in "$dir/glusterishd.pid")" ] && return 0
  say "starting glusterishd ($host:$port)"
  "$sbin/glusterishd" --working-directory="$dir/glusterishd" --port="$port" --bind=$host --pid-file="$dir/glusterishd.pid" \
    --log-file="$dir/log/glusterishd.log" || die "glusterishd did not start; see $dir/log/glusterishd.log"
  wait_for 10 gi volume list || die "glusterishd does not answer; see $dir/log/glusterishd.log"
}

# Creates (if needed) and starts the replica-3 volume.
volume_up() {
  if ! gi volume info "$volume" >/dev/null 2>&1; then
    say "creating volume $volume: replica 3 on $dir/bricks/b1 b2 b3"
    gi volume create "$volume" replica 3 $host:"$dir"/bricks/b{1,2,3} force >/dev/null || die "volume create failed"
  fi
  gi volume info "$volume" | grep -q '^Status: Started' || gi volume start "$volume" >/dev/null || die "volume start failed"
}

# volume_mount MOUNTPOINT [further -o options]
volume_mount() {
  local mnt=$1 opts="server-port=$port,log-file=$dir/log/mount.log${2:+,$2}"
  mkdir -p "$mnt"
  mountpoint -q "$mnt" && return 0
  "$sbin/mount.glusterish" $host:/"$volume" "$mnt" -o "$opts" || die "the mount failed; see $dir/log/mount.log"
}

volume_umount() {
  mountpoint -q "$1" || return 0
  umount "$1" || umount -l "$1"
}

# Stops everything; the files stay.
installation_down() {
  local pid
  if [ -n "$(pid_in "$dir/glusterishd.pid")" ]; then
    gi volume stop "$volume" force >/dev/null 2>&1
  fi
  for pid in $(our_pids); do kill "$pid" 2>/dev/null; done
  for pid in $(our_pids); do wait_for 5 test ! -e "/proc/$pid" || kill -9 "$pid" 2>/dev/null; done
}
