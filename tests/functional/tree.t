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
ok "it unmounts again" end_mount "$WORK/mnt"
ok "bricks 1 and 2 are identical" same_bricks "$WORK/bricks/tree-1" "$WORK/bricks/tree-2"
ok "bricks 1 and 3 are identical" same_bricks "$WORK/bricks/tree-1" "$WORK/bricks/tree-3"
for b in 1 2 3; do
  ok "brick $b holds the tree itself" same "$src" "$WORK/bricks/tree-$b"
  ok "the handles of brick $b are complete" handles_complete "$WORK/bricks/tree-$b"
  is "$(marks "$WORK/bricks/tree-$b")" "" "no mark is left on brick $b"
done

# A client that believes a name is missing makes a file that another one has made meanwhile: it opens that one.
must "it mounts once more" mount_volume tree "$WORK/mnt"
must "another client that keeps what is missing mounts it" mount_volume tree "$WORK/mnt2" --negative-timeout=600
none_there() { ! ls "$@"; }
mkdir "$WORK/mnt/all" && chmod 777 "$WORK/mnt/all"
ok "that one has looked for some names" none_there "$WORK"/mnt2/{opened,truncated,all/private,all/readable}
for f in opened truncated all/private all/readable; do
  echo first >"$WORK/mnt/$f" && touch -d '2001-02-03 04:05:06' "$WORK/mnt/$f"
done
chmod 600 "$WORK/mnt/all/private"
# create FILE FLAG [UID]: nothing is written.
create() {
  python3 - "$@" <<'END'
import os, sys
path, flag, *uid = sys.argv[1:]
os.chdir(os.path.dirname(path))
if uid:
    os.setgroups([])
    os.setgid(int(uid[0]))
    os.setuid(int(uid[0]))
os.close(os.open(os.path.basename(path), os.O_CREAT | getattr(os, flag) | (0 if flag == 'O_RDONLY' else os.O_RDWR)))
END
}
fails() { ! "$@"; }
ok "it makes the first, as it believes" create "$WORK/mnt2/opened" O_RDWR
is "$(cat "$WORK/mnt2/opened")" first "which has its contents still"
is "$(stat -c %y "$WORK/mnt2/opened" | cut -d. -f1)" "2001-02-03 04:05:06" "and the time of its last change"
ok "it makes the second and truncates it" create "$WORK/mnt2/truncated" O_TRUNC
is "$(stat -c %s "$WORK/mnt2/truncated")" 0 "which is empty"
ok "and changed just now" test "$WORK/mnt2/truncated" -nt "$WORK/mnt2/opened"
ok "somebody else cannot make one that only root may open" fails create "$WORK/mnt2/all/private" O_RDWR 1234
like "$OUTPUT" "Permission denied" "he is told why"
ok "nor one to write to that he may only read" fails create "$WORK/mnt2/all/readable" O_TRUNC 1234
is "$(cat "$WORK"/mnt/all/{private,readable})" "$(printf 'first\nfirst')" "nothing has happened to them"
ok "he makes one to read" create "$WORK/mnt2/all/readable" O_RDONLY 1234
ok "and one that nobody has made" create "$WORK/mnt2/all/own" O_TRUNC 1234
ok "the other client sees the truncated one empty" within 5 test ! -s "$WORK/mnt/truncated"
ok "both unmount" eval 'end_mount "$WORK/mnt" && end_mount "$WORK/mnt2"'
export ANY_TIME=1 # what was made or truncated has each brick's own time on its disk: the one that counts is the attribute
ok "bricks 1 and 2 are identical still" same_bricks "$WORK/bricks/tree-1" "$WORK/bricks/tree-2"
ok "bricks 1 and 3 are identical still" same_bricks "$WORK/bricks/tree-1" "$WORK/bricks/tree-3"
done_testing
