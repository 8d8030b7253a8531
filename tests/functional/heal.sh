# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What tests of the self-heal share: a replica-3 volume "h" on $WORK/bricks/h-1 …, mounted on $M, a brick that goes and comes.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
. "$(dirname "${BASH_SOURCE[0]}")/bricks.sh"

start_heal_volume() {
  B=$WORK/bricks
  M=$WORK/mnt
  start_volume h 3 && mount_volume h "$M" --entry-timeout=0 --attribute-timeout=0 && echo 0 >"$M/probe"
}

# kill_brick N: and the mount has noticed, so nothing is lost in between.
kill_brick() {
  local pid
  pid=$(brick_pid h "$B/h-$1")
  kill -9 "$pid" && within 10 not_running "$pid" && gone_for_mount "$1"
}

# end_brick N: as an administrator does, and it has gone.
end_brick() {
  local pid
  pid=$(brick_pid h "$B/h-$1")
  kill "$pid" && within 20 not_running "$pid"
}

PROBE=0
gone_for_mount() {
  PROBE=$((PROBE + 1))
  echo $PROBE >"$M/probe" && ! grep -qx $PROBE "$B/h-$1/probe"
}

brick_back() { gi volume start h force; }

# index_names N: what the heal indices of brick N name.
index_names() {
  local dir
  for dir in xattrop dirty entry-changes; do
    (cd "$B/h-$1/.glusterfs/indices/$dir" 2>/dev/null && find . -mindepth 1 | grep -E '^\./[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}')
  done
}

# all_healed: three identical bricks without a mark, an index name or anything in the anonymous directory.
all_healed() {
  local n
  for n in 1 2 3; do
    [ -z "$(index_names $n)" ] && [ -z "$(marks "$B/h-$n")" ] && [ -z "$(ls -A "$B/h-$n"/.glusterfs-anonymous-inode-* 2>/dev/null)" ] || return 1
  done
  same_plain 1 2 && same_plain 1 3
}

# Bricks compared without the anonymous directory, which only sinks have. Of times by mtime and atime of the time attribute: those
# of the plain files are each brick's own, and a rename or link changes the ctime of an object that carries no mark of it.
plain() {
  describe_tree "$B/h-$1" | sed '1d' | grep -v '^\.glusterfs-anonymous-inode' | sed -E 's/^(.* 0o[0-7]+ [0-9]+ [0-9]+) [0-9]+/\1/'
  gfids "$B/h-$1" | awk 'BEGIN {RS = ""; ORS = "\n\n"} !/glusterfs-anonymous-inode/ && !/# file: \.\n/' |
    sed -E 's/^(trusted.glusterfs.mdata=0x01).{32}/\1/'
}
same_plain() { [ "$(plain "$1")" = "$(plain "$2")" ]; }

# What is still different, for a failed test.
tell_unhealed() {
  local n
  for n in 1 2 3; do
    note "brick $n: index: $(index_names $n | head -n 5 | xargs)"
    note "brick $n: marks: $(marks "$B/h-$n" | head -n 5 | xargs)"
    note "brick $n: anonymous: $(ls -A "$B/h-$n"/.glusterfs-anonymous-inode-* 2>/dev/null | head -n 5 | xargs)"
  done
  note "$(diff <(plain 1) <(plain 2) | head -n 10)"
  note "$(diff <(plain 1) <(plain 3) | head -n 10)"
  tail -n 5 "$WORK"/d/log/*shd*.log "$WORK"/d/log/*heal*.log 2>/dev/null | sed 's/^/# /'
}

# heals SECONDS NAME: everything becomes identical by itself.
heals() {
  if within "$1" all_healed; then
    pass "$2"
  else
    fail "$2"
    tell_unhealed
  fi
}

shd_pid() { cat "$WORK"/d/run/shd/h/h-shd.pid 2>/dev/null; }
shd_runs() { local p; p=$(shd_pid) && [ -n "$p" ] && kill -0 "$p"; }
