#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Files in blocks: which pieces the bricks hold, random operations against a model, two mounts that write one file, and deletion.
. "$(dirname "$0")/lib.sh"
require_root
require_fuse
fsx=$GLUSTERISH_BUILDDIR/tests/functional/fsx
MiB=1048576

start_glusterishd >/dev/null
must "a volume is there" start_volume sharded 3
nok "a block of 1 MiB is refused" gi volume set sharded features.shard-block-size 1MB
must "its files are kept in blocks" gi volume set sharded features.shard on features.shard-block-size 4MB \
  features.cache-invalidation on
must "it is mounted" mount_volume sharded "$WORK/a"
must "and a second time" mount_volume sharded "$WORK/b"
a=$WORK/a b=$WORK/b brick=$WORK/bricks/sharded-1

attribute() { getfattr --absolute-names -n "trusted.glusterfs.shard.$2" -e hex "$brick/$1" | sed -n 's/^.*=0x//p'; }
gfid() { getfattr --absolute-names -n trusted.gfid -e hex "$brick/$1" | sed -n 's/^.*=0x\(.\{8\}\)\(....\)\(....\)\(....\)/\1-\2-\3-\4-/p'; }
blocks() { (cd "$brick/.shard" && for f in "$(gfid "$1")".*; do [ -e "$f" ] && echo "${f##*.}:$(stat -c %s "$f")"; done) | sort -n | tr '\n' ' '; }

head -c $((10 * MiB)) /dev/urandom >"$WORK/ten"
ok "a file of 10 MiB is written" cp "$WORK/ten" "$a/ten"
is "$(blocks ten)" "1:4194304 2:2097152 " "a brick has its pieces"
is "$(stat -c %s "$brick/ten")" $((4 * MiB)) "and the first in its place"
is "$(attribute ten block-size)" 0000000000400000 "the size of blocks stands there"
like "$(attribute ten file-size)" '^0000000000a00000(0{16})[0-9a-f]{16}0{16}$' "and that of the file"
is "$(getfattr --absolute-names -n trusted.gfid -e hex "$brick/.shard" | sed -n 's/^.*=//p')" 0xbe318638e8a04c6d977d7a937aa84806 \
  "the directory of pieces is the one that GlusterFS knows"
ok "it is read back" cmp "$WORK/ten" "$a/ten"
ok "and by the other mount" cmp "$WORK/ten" "$b/ten"
is "$(stat -c %s "$a/ten" "$b/ten" | sort -u)" $((10 * MiB)) "both know its size"
is "$(find "$a" "$b" -type f -size +9M -size -11M | wc -l)" 2 "also from a listing"
is "$(ls -A "$a")" ten "the directory of pieces is not listed"
nok "nor found" stat "$a/.shard"
nok "nor made" mkdir "$a/.shard"
is "$(getfattr --absolute-names -d -m 'shard' "$a/ten")" "" "its attributes are not shown"

printf '0123456789' | dd of="$a/hole" bs=1 seek=$((20 * MiB)) conv=notrunc status=none
is "$(blocks hole)" "5:10 " "a hole has no pieces"
is "$(attribute hole file-size | cut -c1-32)" 000000000140000a0000000000000000 "the file has its size"
is "$(head -c $((20 * MiB)) "$b/hole" | tr -d '\0' | wc -c)" 0 "a hole is read as zeros"
is "$(tail -c 10 "$b/hole")" 0123456789 "and behind it is what was written"

ok "a file is cut" truncate -s $((5 * MiB)) "$a/ten"
is "$(blocks ten)" "1:$MiB " "its pieces follow"
ok "it grows again" truncate -s $((9 * MiB)) "$a/ten"
head -c $((5 * MiB)) "$WORK/ten" >"$WORK/want"
truncate -s $((9 * MiB)) "$WORK/want"
ok "with zeros" cmp "$WORK/want" "$b/ten"

for seed in 1 2; do ok "random operations, seed $seed" timeout 100 "$fsx" "$a" "$seed" 300; done

run timeout 200 python3 - "$a" "$b" <<'PY'
import os, sys, threading, time
a, b = sys.argv[1:]
MiB = 1 << 20

def check(what, fine):
    print("ok" if fine else "WRONG", what)

# two mounts append to one file
def append(dir, mark):
    fd = os.open(dir + "/log", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    for i in range(40):
        os.write(fd, mark * 100000)
    os.close(fd)
threads = [threading.Thread(target=append, args=x) for x in ((a, b"a"), (b, b"b"))]
[t.start() for t in threads]
[t.join() for t in threads]
data = open(a + "/log", "rb").read()
check("two mounts append", len(data) == 8000000 and data.count(b"a") == 4000000)
check("whole records", all(len(set(data[i:i + 100000])) == 1 for i in range(0, len(data), 100000)))

# and write beside each other
def beside(dir, first, mark):
    fd = os.open(dir + "/beside", os.O_RDWR | os.O_CREAT)
    for i in range(first, 24, 2):
        os.pwrite(fd, mark * (MiB // 2), i * (MiB // 2))
    os.fsync(fd)
    os.close(fd)
threads = [threading.Thread(target=beside, args=x) for x in ((a, 0, b"a"), (b, 1, b"b"))]
[t.start() for t in threads]
[t.join() for t in threads]
data = open(b + "/beside", "rb").read()
check("and write beside each other", data == (b"a" * (MiB // 2) + b"b" * (MiB // 2)) * 12)

# a write to a later block is seen where the file is open, and moves its time
def soon(true):
    end = time.time() + 20
    while not true() and time.time() < end:
        time.sleep(0.05)
    return true()
fd = os.open(b + "/beside", os.O_RDONLY)
os.pread(fd, 10, 9 * MiB)
os.utime(a + "/beside", (1000, 1000))
check("a time that is set is seen elsewhere", soon(lambda: os.fstat(fd).st_mtime == 1000))
with open(a + "/beside", "r+b") as f:
    f.seek(9 * MiB)
    f.write(b"new")
check("a change is seen elsewhere", soon(lambda: os.pread(fd, 3, 9 * MiB) == b"new"))
check("with its time", soon(lambda: os.fstat(fd).st_mtime > 1000000) and os.stat(a + "/beside").st_mtime > 1000000)

# O_DIRECT, O_TRUNC, an unlinked file, a copy
import mmap
buf = mmap.mmap(-1, MiB)
buf.write(b"d" * MiB)
fd = os.open(a + "/direct", os.O_RDWR | os.O_CREAT | os.O_DIRECT)
for i in range(6):
    os.pwrite(fd, buf, i * MiB + 3 * MiB)
os.close(fd)
check("O_DIRECT", open(b + "/direct", "rb").read() == bytes(3 * MiB) + b"d" * 6 * MiB)
check("SEEK_DATA", os.lseek(os.open(a + "/direct", os.O_RDONLY), 0, os.SEEK_DATA) == 3 * MiB)
check("SEEK_HOLE", os.lseek(os.open(a + "/direct", os.O_RDONLY), 4 * MiB, os.SEEK_HOLE) == 9 * MiB)
src, dst = os.open(a + "/direct", os.O_RDONLY), os.open(a + "/copied", os.O_WRONLY | os.O_CREAT)
at = 0
while at < 9 * MiB:
    n = os.copy_file_range(src, dst, 9 * MiB - at)
    if not n: break
    at += n
os.close(dst)
check("copy_file_range", open(b + "/copied", "rb").read() == open(a + "/direct", "rb").read())
open(a + "/copied", "w").close()
check("O_TRUNC", os.stat(b + "/copied").st_size == 0)
fd = os.open(a + "/direct", os.O_RDWR)
os.unlink(a + "/direct")
os.pwrite(fd, b"still", 8 * MiB)
check("an unlinked file goes on", os.pread(fd, 5, 8 * MiB) == b"still" and os.pread(fd, 5, 4 * MiB) == b"ddddd")
os.close(fd)
PY
like "$OUTPUT" '^ok an unlinked file goes on' "the script came to its end"
is "$(grep -v '^ok ' <<<"$OUTPUT")" "" "nothing of it was wrong"

ok "a file is renamed over another" mv "$a/hole" "$a/beside"
is "$(tail -c 10 "$b/beside")" 0123456789 "it has the content of the first"
ok "all are removed" rm -rf "$a"/ten "$a"/log "$a"/beside "$a"/copied
is "$(ls -A "$a")" "" "nothing is left to be seen"
emptied() { [ -z "$(ls -A "$brick/.shard/.remove_me")" ] && [ "$(ls -A "$brick/.shard")" = .remove_me ]; }
ok "nor of the pieces" within 20 emptied
is "$(ls -A "$brick/.shard")" .remove_me "of which there are none"
done_testing
