#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A tree copied into a replica-3 volume comes back the same, also through a fresh mount, and the three bricks hold identical plain
# files with the handles and attributes of the on-disk format.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/bricks.sh"
require_root
require_fuse
start_glusterishd
must "the volume starts" start_volume tree 3
must "it mounts" mount_volume tree "$WORK/mnt"

# A tree with what trees have: sizes around page and request borders, modes, owners, links, times, attributes, odd names.
src=$WORK/src
mkdir -p "$src"/{empty,deep/a/b/c/d/e,"with space",.hidden}
for size in 0 1 4095 4096 4097 131071 131072 131073 1048576 1048577 3000000; do
  head -c $size /dev/urandom >"$src/file-$size"
done
for i in $(seq 200); do echo "file $i" >"$src/deep/a/f$i"; done
printf 'x' >"$src/with space/näme $(printf '\001')"
truncate -s 5000000 "$src/sparse" && printf end >>"$src/sparse"
ln -s ../file-1 "$src/deep/link"
ln -s nowhere "$src/dangling"
ln "$src/file-4096" "$src/hard"
mkfifo "$src/fifo"
mknod "$src/null" c 1 3
chmod 4755 "$src/file-1" && chmod 2775 "$src/deep" && chmod 1777 "$src/empty" && chmod 000 "$src/file-0"
chown 1234:4321 "$src/file-4097" "$src/deep/a"
setfattr -n user.colour -v blue "$src/file-4097"
setfattr -n user.on-dir -v yes "$src/deep"
touch -d '2001-02-03 04:05:06.789' "$src/file-4095" "$src/deep/a/b"
touch -h -d '1999-01-01' "$src/dangling"

same() { [ "$(describe_tree "$1")" = "$(describe_tree "$2")" ] || { diff <(describe_tree "$1") <(describe_tree "$2") | head -n 20; false; }; }

ok "the tree is copied in" cp -a "$src/." "$WORK/mnt/"
ok "what is read back is what was written" same "$src" "$WORK/mnt"
ok "it unmounts" umount "$WORK/mnt"
ok "it mounts again" mount_volume tree "$WORK/mnt"
ok "a fresh mount sees the same" same "$src" "$WORK/mnt"
ok "it unmounts again" umount "$WORK/mnt"
sleep 1.5 # a post-op may be delayed by a second
ok "bricks 1 and 2 are identical" same_bricks "$WORK/bricks/tree-1" "$WORK/bricks/tree-2"
ok "bricks 1 and 3 are identical" same_bricks "$WORK/bricks/tree-1" "$WORK/bricks/tree-3"
for b in 1 2 3; do
  ok "brick $b holds the tree itself" same "$src" "$WORK/bricks/tree-$b"
  ok "the handles of brick $b are complete" handles_complete "$WORK/bricks/tree-$b"
  is "$(marks "$WORK/bricks/tree-$b")" "" "no mark is left on brick $b"
done
done_testing
