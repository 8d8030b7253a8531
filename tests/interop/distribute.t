#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A GlusterFS client and ours on one volume over plain bricks, at the same time: layouts, places and linkto files are the same whoever makes them, and each finds,
# renames and removes what the other made. With their bricks and with ours.
. "$(dirname "$0")/../functional/lib.sh"
. "$(dirname "$0")/bricks.sh"
. "$(dirname "$0")/tree.sh"
require_glusterfs

client_volfile() {
  local i
  for i in 1 2 3; do
    printf 'volume v-client-%d\n    type protocol/client\n    option remote-host %s\n    option remote-port %d\n    option remote-subvolume %s\n' \
      $((i - 1)) "$HOST" $((BASE_PORT + i)) "$(brick_top $i)"
    printf '    option transport-type tcp\n    option transport.address-family inet\n    option ping-timeout 5\nend-volume\n'
  done
  printf 'volume v-dht\n    type cluster/distribute\n    subvolumes v-client-0 v-client-1 v-client-2\nend-volume\n'
  printf 'volume v\n    type debug/io-stats\n    subvolumes v-dht\nend-volume\n'
}
# Layouts, linkto targets and the mds marks of everything on the bricks; gfids and times are left out.
state_of() {
  local i
  for i in 1 2 3; do
    (cd "$WORK/b$i" && find "$1" -printf '%y %m %s %p\n' | LC_ALL=C sort -k4 && getfattr -h -R -d -m 'trusted.glusterfs.dht' -e hex "$1" 2>/dev/null) |
      sed "s/^/$i /"
  done
}
# Bricks, which their client names in the order of the answers, and the parts of the layout.
places() {
  local i value
  for i in . t t/deep2 t/f27 t/moved-2; do
    value=$(cd "$WORK/$1" && getfattr --only-values -n "$2" "$i" | tr -d '\0')
    grep -o '<[^>]*>' <<<"$value" | LC_ALL=C sort
    tr -d '\n' <<<"$value" | sed 's/<POSIX[^>]*>/B/g'
    echo
  done
}

# All that makes, changes and removes names, enough of them that some belong to each brick. Prints what fails.
use() {
  local i
  for i in $(seq 12); do
    echo "$i" >"$1/f$i"
    mkdir "$1/d$i"
    ln -s "$i" "$1/s$i"
    ln "$1/f$i" "$1/l$i"
    mv "$1/f$i" "$1/g$i"
    cat "$1/l$i" "$1/g$i" >/dev/null
    rm "$1/g$i" "$1/l$i" "$1/s$i"
    rmdir "$1/d$i"
  done
}

for kind in real ours; do
  must "bricks start ($kind)" interop_begin $kind
  must "GlusterFS mounts them" interop_mount real "$WORK/theirs"
  must "we mount them" interop_mount ours "$WORK/mine"
  make_tree "$WORK/theirs/t"
  theirs=$(contents "$WORK/theirs/t")
  is "$(contents "$WORK/mine/t")" "$theirs" "$kind: we see what they made"
  state_of t >"$WORK/state.theirs"
  rm -rf "$WORK/theirs/t"
  nok "$kind: what they remove is gone here" ls "$WORK/mine/t"
  make_tree "$WORK/mine/t"
  is "$(contents "$WORK/theirs/t")" "$theirs" "$kind: they see what we made"
  state_of t >"$WORK/state.mine"
  ok "$kind: with linkto files among it" grep -q 'f 1000 0 t/' "$WORK/state.mine"
  is "$(diff "$WORK/state.theirs" "$WORK/state.mine")" "" "$kind: it is the same on the bricks"
  for name in trusted.glusterfs.pathinfo glusterfs.pathinfo trusted.glusterfs.list-node-uuids; do
    is "$(places mine "$name")" "$(places theirs "$name")" "$kind: both say the same of where things are ($name)"
  done
  for i in 21 22 23; do mv "$WORK/theirs/t/f$i" "$WORK/theirs/t/x$i" && mv "$WORK/mine/t/x$i" "$WORK/mine/t/y$i" && mv "$WORK/theirs/t/y$i" "$WORK/theirs/t/z$i"; done
  is "$(cat "$WORK"/mine/t/z2? | tr '\n' ' ')" "16 17 18 " "$kind: a file renamed by both in turn keeps its contents"
  setfattr -n user.theirs -v 1 "$WORK/theirs/t/sub" && setfattr -n user.ours -v 2 "$WORK/mine/t/sub"
  is "$(getfattr -h --absolute-names -d "$WORK"/b?/t/sub 2>/dev/null | grep -c '^user')" 6 "$kind: extended attributes of a directory are everywhere"
  is "$(getfattr -h --absolute-names -n trusted.glusterfs.dht.mds -e hex "$WORK"/b?/t/sub 2>/dev/null | grep -c 'mds=0x00000000$')" 1 "$kind: and nothing is marked"
  echo more >>"$WORK/theirs/t/z21"
  is "$(tail -1 "$WORK/mine/t/z21")" more "$kind: and is one"
  # Their client, when it knows the directory already, refuses what belongs to the hole (ESTALE, ENODATA) until it is mounted anew.
  mkdir "$WORK/mine/t/hole" && echo old >"$WORK/mine/t/hole/old"
  setfattr -x trusted.glusterfs.dht "$WORK/b2/t/hole"
  is "$(use "$WORK/mine/t/hole" 2>&1)" "" "$kind: a directory that has lost a part of its layout is used as ever"
  is "$(getfattr --absolute-names -n trusted.glusterfs.dht -e hex "$WORK"/b?/t/hole | grep -c 'dht=0x0000000[01]0000000')" 3 "$kind: and has all of it again"
  is "$(cat "$WORK/theirs/t/hole/old")" old "$kind: for them too"
  ok "$kind: we remove all" rm -rf "$WORK/mine/t"
  is "$(ls "$WORK/theirs"; ls -A "$WORK"/b?/t 2>/dev/null)" "" "$kind: nothing is left"
  interop_end_now() { for i in "${MOUNTS[@]}"; do unmount "$i"; done; MOUNTS=(); for i in 1 2 3; do brick_stop $i; rm -rf "$WORK/b$i"; done; }
  interop_end_now
done
done_testing
