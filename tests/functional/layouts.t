#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# By hand, a minute or two for each layout: volumes of several sets do what one of a single set does. PostgreSQL is filled, a repository is cloned, a tree
# copied with rsync, and fsx runs; then a set goes down, and rsync --delete stops instead of taking its files for removed. LAYOUTS="2x3 4x2+1 6x1";
# LAYOUTS_POSTGRES=no leaves PostgreSQL out; LAYOUTS_TREE=DIRECTORY: of the source, instead of doc.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/bricks.sh"
. "$GLUSTERISH_SRCDIR/extras/pgbench.sh"
require_root
require_fuse
command -v rsync >/dev/null || skip_all "rsync is not installed"
start_glusterishd >/dev/null
chmod 755 "$WORK"
mkdir -p "$WORK/bricks" "$WORK/run"

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

for layout in ${LAYOUTS:-2x3 4x2+1 6x1}; do
  vol=v${layout//[^0-9]/-} M=$WORK/m$layout
  bricks_of "$layout"
  # shellcheck disable=SC2086
  must "$layout: a volume is made" gi volume create "$vol" $shape "${bricks[@]}" force
  must "$layout: it starts" gi volume start "$vol"
  must "$layout: it is mounted" mount_volume "$vol" "$M"
  [ -z "$pg_bin" ] || [ "${LAYOUTS_POSTGRES:-yes}" = no ] || postgres "$layout"
  ok "$layout: a repository is cloned" git clone -q "$WORK/from/repository" "$M/clone"
  ok "$layout: and is whole" git -C "$M/clone" fsck --full
  is "$(git -C "$M/clone" status --porcelain)" "" "$layout: and its files are right"
  ok "$layout: rsync copies a tree" rsync -a "$WORK/from/tree/" "$M/tree/"
  is "$(contents "$M/tree" | diff - "$WORK/want" | head -n 5)" "" "$layout: with all its bytes"
  is "$(rsync -ani --delete "$WORK/from/tree/" "$M/tree/" | head -n 5)" "" "$layout: and finds nothing to do then"
  mkdir "$M/fsx"
  ok "$layout: fsx" timeout 300 "$GLUSTERISH_BUILDDIR/tests/functional/fsx" "$M/fsx" 7 200
  ok "$layout: a set goes down" all_down
  ok "$layout: its directories cannot be listed" within 60 gone
  mkdir -p "$WORK/back/tree"
  cp -r "$WORK/want" "$WORK/back/tree/mine"
  cp -r "$WORK/from/tree/." "$WORK/back/tree/"
  nok "$layout: rsync --delete stops" rsync -a --delete "$M/tree/" "$WORK/back/tree/"
  is "$(cd "$WORK/back/tree" && rm -f mine && contents . | diff - "$WORK/want" | head -n 5)" "" "$layout: and has removed nothing"
  unmount "$M"
  gi volume stop "$vol" force >/dev/null
done
done_testing
