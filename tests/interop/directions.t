#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Given the same marks on the same bricks, our self-heal daemon and GlusterFS's make the same copy win, on our bricks and on theirs.
. "$(dirname "$0")/../functional/lib.sh"
. "$(dirname "$0")/bricks.sh"
require_glusterfs
GRANULAR=off # what was done by hand to directories is in no index of names

directions() { python3 "$(dirname "$0")/directions.py" "$@"; }
on_bricks() {
  local command=$1
  shift
  directions "$command" "$@" "$WORK"/b1 "$WORK"/b2 "$WORK"/b3
}

# heal_copies BRICKS HEALER: heals a fresh copy of the marked bricks; what came of it is in $WORK/HEALER-on-BRICKS.
heal_copies() {
  local i
  BRICKS=$1
  for i in 1 2 3; do
    rm -rf "$WORK/b$i"
    cp -a "$WORK/marked/b$i" "$WORK/b$i" || return 1
  done
  on_bricks age
  for i in 1 2 3; do
    brick_volfile $i >"$WORK/b$i.vol"
    brick_start $i || return 1
  done
  interop_shd "$2"
  within 60 on_bricks todo || note "not healed: $(on_bricks todo)"
  for i in 0 1; do # what stays undecided has been looked at again when they are healed
    shd_stop "$2" TERM
    on_bricks sentinel $i
    interop_shd "$2"
    within 30 on_bricks todo
  done
  shd_stop "$2" TERM
  for i in 1 2 3; do brick_stop $i; done
  on_bricks show >"$WORK/$2-on-$1"
  on_bricks todo
}

must "bricks start" interop_begin ours
must "we mount them" interop_mount ours "$WORK/m"
directions make "$WORK/m"
unmount "$WORK/m"
MOUNTS=()
for n in 1 2 3; do brick_stop $n; done
on_bricks mark
mkdir "$WORK/marked"
mv "$WORK"/b[123] "$WORK/marked"

for kind in real ours; do
  ok "GlusterFS heals what can be healed (bricks: $kind)" heal_copies $kind real
  ok "and so do we" heal_copies $kind ours
done
while read -r name ours theirs; do
  for run in ours-on-ours ours-on-real; do is "$(sed -n "s/^$name //p" "$WORK/$run" | cut -d' ' -f1)" "$ours" "$name: $run"; done
  for run in real-on-ours real-on-real; do like "$(sed -n "s/^$name //p" "$WORK/$run" | cut -d' ' -f1)" "^($theirs)$" "$name: $run"; done
done <<<"$(directions expect)"
# Marks that stay are the same, too.
alike() { grep -vE '^(e-chain|e-good-ones-differ|e-dirty-sink|e-dirty-source|e-self-accused) ' "$WORK/$1"; }
is "$(alike real-on-ours)" "$(alike real-on-real)" "GlusterFS does the same on our bricks as on its own"
is "$(alike ours-on-real)" "$(alike real-on-real)" "we do the same on its bricks"
is "$(alike ours-on-ours)" "$(alike real-on-real)" "and on our own"
done_testing
