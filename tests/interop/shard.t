#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Files in blocks: a GlusterFS client and ours on one volume, on its bricks and on ours; each reads, cuts and removes what the other wrote.
. "$(dirname "$0")/../functional/lib.sh"
. "$(dirname "$0")/bricks.sh"
require_glusterfs
MiB=1048576

# Like interop_mount, with features/shard on top.
eval "$(declare -f client_volfile | sed '1s/client_volfile/client_volfile_plain/')"
client_volfile() {
  client_volfile_plain "$@"
  printf 'volume v-shard\n    type features/shard\n    option shard-block-size 4MB\n    subvolumes v-replicate-0\nend-volume\n'
}

pieces() { (cd "$WORK/b1/.shard" && ls | grep -c '\.[0-9]*$'); }
no_pieces() { [ "$(pieces)" = 0 ] && [ -z "$(ls "$WORK/b1/.shard/.remove_me" 2>/dev/null)" ]; }
sum() { md5sum <"$1"; }
sizes() { [ "$(stat -c %s "${@:2}" | sort -u)" = "$1" ]; }
xattrs() { getfattr --absolute-names -d -m 'shard' -e hex "$WORK/b1/$1" | grep = | sort; }

# write DIR NAME: 10 MiB, a hole, and some bytes at 21 MiB, in pieces of an odd size.
write() {
  head -c $((10 * MiB)) /dev/urandom | dd of="$1/$2" bs=100001 iflag=fullblock status=none &&
    printf 'the end' | dd of="$1/$2" bs=1 seek=$((21 * MiB)) conv=notrunc status=none && sync "$1/$2"
}

for bricks in real ours; do
  must "bricks start (bricks: $bricks)" interop_begin $bricks
  must "GlusterFS mounts" interop_mount real "$WORK/real-$bricks"
  must "and so do we" interop_mount ours "$WORK/ours-$bricks"
  real=$WORK/real-$bricks ours=$WORK/ours-$bricks
  ok "GlusterFS writes" write "$real" theirs
  ok "and so do we" write "$ours" mine
  is "$(sum "$ours/theirs")" "$(sum "$real/theirs")" "we read what it wrote"
  is "$(sum "$real/mine")" "$(sum "$ours/mine")" "it reads what we wrote"
  is "$(stat -c %s "$real"/mine "$ours"/mine "$real"/theirs "$ours"/theirs | sort -u)" $((21 * MiB + 7)) "both see one size"
  is "$(xattrs mine | sed 's/\(.*file-size=0x.\{32\}\).*/\1/')" "$(xattrs theirs | sed 's/\(.*file-size=0x.\{32\}\).*/\1/')" \
    "the same attributes are on the bricks"
  is "$(ls -A "$ours")" "$(ls -A "$real")" "the same names are seen"
  for who in "$real" "$ours"; do stat "$who/.shard" >"$WORK/stat-${who##*/}" 2>&1; done
  is "$(sed 's/.*: //' "$WORK/stat-ours-$bricks")" "$(sed 's/.*: //' "$WORK/stat-real-$bricks")" "the directory of pieces is refused alike"
  ok "we cut what it wrote" truncate -s $((5 * MiB)) "$ours/theirs"
  ok "it cuts what we wrote" truncate -s $((5 * MiB)) "$real/mine"
  ok "and the other sees that" within 10 sizes $((5 * MiB)) "$real"/theirs "$ours"/mine
  ok "and the bricks" sizes $((4 * MiB)) "$WORK/b1/mine" "$WORK/b1/theirs"
  is "$(sum "$ours/mine") $(sum "$ours/theirs")" "$(sum "$real/mine") $(sum "$real/theirs")" "with the same content"
  ok "we append to its file" sh -c "head -c $MiB /dev/zero | tr '\0' x >>'$ours/theirs'"
  ok "it sees that" within 10 sizes $((6 * MiB)) "$real/theirs"
  ok "it appends then" sh -c "printf y >>'$real/theirs'"
  ok "both are in the size" within 10 sizes $((6 * MiB + 1)) "$ours/theirs"
  is "$(tail -c $((MiB + 1)) "$ours/theirs" | tr -d x)" y "and in the file"
  ok "we remove its file" timeout 20 rm "$ours/theirs"
  ok "it removes ours" timeout 20 rm "$real/mine"
  within 20 no_pieces
  is "$(pieces)" 0 "no piece is left"
  for dir in "${MOUNTS[@]}"; do unmount "$dir"; done
  MOUNTS=()
  for n in 1 2 3; do brick_stop $n; rm -rf "$WORK/b$n"; done
done
done_testing
