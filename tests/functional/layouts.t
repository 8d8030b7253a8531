#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Volumes of several sets do what one of a single set does: a repository is cloned, a tree copied with rsync, fsx runs, PostgreSQL is filled; new files go
# where options say. Then a set goes down: what is on others goes on, and rsync --delete stops instead of taking its files for removed.
# LAYOUTS="2x3 4x2+1 6x1"; by hand LAYOUTS_WHOLE=yes: PostgreSQL and all system calls (syscalls.c) on each, some minutes;
# LAYOUTS_TREE=DIRECTORY: of the source, instead of doc.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/bricks.sh"
. "$GLUSTERISH_SRCDIR/extras/pgbench.sh"
require_root
require_fuse
command -v rsync >/dev/null || skip_all "rsync is not installed"
start_glusterishd >/dev/null
chmod 755 "$WORK"
mkdir -p "$WORK/bricks" "$WORK/run" "$WORK/reference"
chmod 755 "$WORK/reference"

# A tree and a repository of the system's own files.
mkdir -p "$WORK/from/tree"
cp -r "$GLUSTERISH_SRCDIR/${LAYOUTS_TREE:-doc}" "$WORK/from/tree/doc"
ln -s doc/README.md "$WORK/from/tree/link"
git init -q "$WORK/from/repository"
cp -r "$WORK/from/tree/doc" "$WORK/from/repository/"
(cd "$WORK/from/repository" && git add -A && git -c user.name=t -c user.email=t@t commit -qm all)
contents() { (cd "$1" && find . -type f -exec sha256sum {} + -o -type l -printf '%l  %p\n' | sort); }
contents "$WORK/from/tree" >"$WORK/want"

# Bricks in the order of their sets, with `size` each.
bricks_of() {
  local sets=${1%%x*}
  case $1 in
  *x2+1) size=3 shape="replica 3 arbiter 1" ;;
  *x1) size=1 shape='' ;;
  *) size=${1##*x} shape="replica ${1##*x}" ;;
  esac
  bricks=()
  for i in $(seq $((sets * size))); do bricks+=("$HOST:$WORK/bricks/$vol-$i"); done
}
all_down() {
  local i pid
  for i in $(seq "$size"); do
    pid=$(brick_pid "$vol" "$WORK/bricks/$vol-$i") && kill -9 "$pid" || return 1
  done
}
gone() { ! ls "$M/tree/doc" >/dev/null 2>&1; }
not_there() { LC_ALL=C "$@" 2>&1 | grep -q 'not connected'; }
# The subvolumes that have what is in a directory; linkto files are left out.
places() { (cd "$WORK/bricks" && find "$vol"-*/"$1" -type f ! -perm 1000 -printf '%H\n' | sed "s/^$vol-//; s,/.*,," | awk -v size="$size" '{print int(($1 - 1) / size)}' | sort -nu | tr '\n' ' '); }
new_files() { rm -rf "${M:?}/$1" && mkdir "$M/$1" && for i in $(seq 12); do echo "$i" >"$M/$1/$i.$1" || return; done; }
go_to() { new_files "$1" && [ "$(places "$1")" = "$2 " ]; }
subvolume() { if [ "$size" = 1 ]; then echo "$vol-client-$1"; else echo "$vol-replicate-$1"; fi; }

# Two that begin at once to write files in blocks make the directory of these at once.
blocks_at_once() {
  local k pids=()
  for k in 1 2 3 4; do
    head -c 100000 /dev/zero | dd of="$M/blocks$k" bs=100000 seek=$((k * 100)) conv=fsync status=none &
    pids+=($!)
  done
  for k in "${pids[@]}"; do wait "$k" || return; done
}

placement() {
  ok "$1: files of some names go to one set" gi volume set "$vol" cluster.switch-pattern "*.img:$(subvolume 1);*.iso:$(subvolume 0)" cluster.switch on
  ok "$1: as the pattern says" within 10 go_to img 1
  ok "$1: those of others to theirs" within 10 go_to iso 0
  ok "$1: and are found there" eval 'cat "$M"/img/*.img "$M"/iso/*.iso >/dev/null'
  ok "$1: all go to one of this machine" gi volume set "$vol" cluster.switch off cluster.local-volume-name "$(subvolume 1)" cluster.nufa on
  ok "$1: to that which is named" within 10 go_to near 1
  ok "$1: and are spread again" gi volume reset "$vol" cluster.nufa
}
postgres() {
  mkdir "$M/pg" && chown postgres "$WORK/run" "$M/pg"
  ok "$1: initdb" as_postgres "$pg_bin/initdb" -D "$M/pg/data" -A trust --data-checksums
  ok "$1: PostgreSQL starts" pg_start "$M/pg/data" "$WORK/run"
  ok "$1: a database is made" as_postgres "$pg_bin/createdb" -h "$WORK/run" bench
  ok "$1: and filled" as_postgres "$pg_bin/pgbench" -h "$WORK/run" -i -q -s 1 bench
  ok "$1: and used" as_postgres "$pg_bin/pgbench" -h "$WORK/run" -n -c 2 -T 3 bench
  ok "$1: PostgreSQL stops" pg_stop "$M/pg/data"
  ok "$1: its checksums are right" as_postgres "$pg_bin/pg_checksums" -c -D "$M/pg/data"
}

# One that may leave names out, what is on other sets, and what needs all.
without_a_set() {
  local up=$M/img/1.img down=$M/iso/1.iso # on the second set, and on the first, which is away
  ok "$1: a file of another set is read" cat "$up"
  ok "$1: and written" eval 'echo more >>"$up"'
  ok "$1: one of the set that is away is not" not_there cat "$down"
  ok "$1: no directory is removed" not_there rmdir "$M/empty"
  ok "$1: nor renamed" not_there mv "$M/empty" "$M/full"
  like "$(df --output=size "$M" | tail -n 1)" '^ *[0-9]+$' "$1: the room of the others is told"
  ok "$1: a mount that may leave names out lists the others" eval 'ls "$M.partial/img" | grep -qx 1.img'
  ok "$1: and says so" grep -q 'listings lack what is there (partial-listing=allow)' "$WORK/mount-m$1.partial.log"
  like "$(gi doctor)" 'listing-partial' "$1: doctor names it"
  is "$(cat "$M.partial/.meta/graphs/active/$vol-dht/options/partial-listing")" allow "$1: also in what it shows of itself"
}

for layout in ${LAYOUTS:-2x3 4x2+1 6x1}; do
  vol=v${layout//[^0-9]/-} M=$WORK/m$layout
  bricks_of "$layout"
  # shellcheck disable=SC2086
  must "$layout: a volume is made" gi volume create "$vol" $shape "${bricks[@]}" force
  must "$layout: it starts" gi volume start "$vol"
  must "$layout: it is mounted" mount_volume "$vol" "$M"
  [ -z "$pg_bin" ] || [ "$layout" != 4x2+1 ] && [ -z "${LAYOUTS_WHOLE:-}" ] || postgres "$layout"
  [ -z "${LAYOUTS_WHOLE:-}" ] || ok "$layout: system calls" "$GLUSTERISH_BUILDDIR/tests/functional/syscalls" "$M" "$WORK/reference"
  ok "$layout: a repository is cloned" git clone -q "$WORK/from/repository" "$M/clone"
  ok "$layout: and is whole" git -C "$M/clone" fsck --full
  is "$(git -C "$M/clone" status --porcelain)" "" "$layout: and its files are right"
  ok "$layout: rsync copies a tree" rsync -a "$WORK/from/tree/" "$M/tree/"
  is "$(contents "$M/tree" | diff - "$WORK/want" | head -n 5)" "" "$layout: with all its bytes"
  is "$(rsync -ani --delete "$WORK/from/tree/" "$M/tree/" | head -n 5)" "" "$layout: and finds nothing to do then"
  mkdir "$M/fsx"
  ok "$layout: fsx" timeout 300 "$GLUSTERISH_BUILDDIR/tests/functional/fsx" "$M/fsx" 7 200
  placement "$layout"
  if [ "$layout" = 2x3 ]; then
    ok "$layout: files are kept in blocks" gi volume set "$vol" features.shard on features.shard-block-size 4MB
    unmount "$M" && mount_volume "$vol" "$M"
    ok "$layout: several begin at once" blocks_at_once
  fi
  mkdir "$M/empty"
  ok "$layout: another mount may leave names out of a listing" mount_volume "$vol" "$M.partial" "--xlator-option=*-dht.partial-listing=allow"
  ok "$layout: a set goes down" all_down
  ok "$layout: its directories cannot be listed" within 60 gone
  mkdir -p "$WORK/back/tree"
  cp -r "$WORK/want" "$WORK/back/tree/mine"
  cp -r "$WORK/from/tree/." "$WORK/back/tree/"
  nok "$layout: rsync --delete stops" rsync -a --delete "$M/tree/" "$WORK/back/tree/"
  is "$(cd "$WORK/back/tree" && rm -f mine && contents . | diff - "$WORK/want" | head -n 5)" "" "$layout: and has removed nothing"
  without_a_set "$layout"
  unmount "$M.partial"
  if [ "$size" = 1 ]; then
    ok "$layout: its brick is reset" gi volume reset-brick "$vol" "$HOST:$WORK/bricks/$vol-1" start
    ok "$layout: and comes back" gi volume reset-brick "$vol" "$HOST:$WORK/bricks/$vol-1" "$HOST:$WORK/bricks/$vol-1" commit force
    whole() { [ "$(contents "$M/tree" | diff - "$WORK/want" | wc -l)" = 0 ]; }
    ok "$layout: with what it has" within 20 whole
  fi
  unmount "$M"
  gi volume stop "$vol" force >/dev/null
done
done_testing
