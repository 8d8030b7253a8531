#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A volume shrinks to one brick, and grows from one, while a program is in the middle of a listing and has files open that move: the listing shows
# each name once, and what is written is in the files.
. "$(dirname "$0")/lib.sh"
require_root
require_fuse
start_glusterishd
must "two plain bricks start" start_volume v 1 2
must "they are mounted" mount_volume v "$WORK/mnt"
M=$WORK/mnt
brick() { echo "$HOST:$WORK/bricks/$1"; }
spread() { [ "$(grep -c "the volume is spread over $1 subvolumes now" "$WORK/mount-$2.log")" = "$3" ]; }
connected() { grep -q "connected to .*attached to $WORK/bricks/$2" "$WORK/mount-$1.log"; }
drained() { gi volume remove-brick v "$(brick "$1")" status | awk 'NR == 3 {print $7}' | grep -qx completed; }
moved() { gi volume rebalance v status | awk 'NR == 3 {print $7}' | grep -qx completed; }

# Lists a part of a directory and opens its first files; goes on when the file `go` comes.
cat >"$WORK/hold.py" <<'PY'
import ctypes, os, sys, time
where, note, mark = sys.argv[1:]
libc = ctypes.CDLL(None, use_errno=True)
fd = os.open(where, os.O_RDONLY | os.O_DIRECTORY)
buf = ctypes.create_string_buffer(1024)
def some():
    n = libc.getdents64(fd, buf, len(buf))
    if n < 0:
        raise OSError(ctypes.get_errno(), "getdents64")
    at, names = 0, []
    while at < n:
        size = int.from_bytes(buf.raw[at + 16:at + 18], "little")
        names.append(buf.raw[at + 19:at + size].split(b"\0")[0].decode())
        at += size
    return names
names = some() + some()
files = {i: os.open("%s/open%d" % (where, i), os.O_RDWR) for i in range(20)}
open(note + ".held", "w").close()
while not os.path.exists(note + ".go"):
    time.sleep(0.05)
for i, f in files.items():
    os.pwrite(f, b"%s %d\n" % (mark.encode(), i), 0)
    os.ftruncate(f, len(mark) + 1 + len("%d\n" % i))
    os.fsync(f)
more = some()
while more:
    names += more
    more = some()
wanted = sorted([".", ".."] + os.listdir(where))
if sorted(names) != wanted:
    print("twice:", sorted(n for n in set(names) if names.count(n) > 1), "missing:", sorted(set(wanted) - set(names)))
for i, f in files.items():
    if os.pread(f, 100, 0) != open("%s/open%d" % (where, i), "rb").read():
        print("what is open is not open%d" % i)
PY
hold() { # MOUNT NAME: begins
  rm -f "$WORK/$2".*
  python3 "$WORK/hold.py" "$1/dir" "$WORK/$2" "$2" >"$WORK/$2.out" 2>&1 &
  holder=$!
  within 20 test -e "$WORK/$2.held"
}
ends() { # MOUNT NAME
  touch "$WORK/$2.go"
  ok "it ends" wait "$holder"
  is "$(cat "$WORK/$2.out")" "" "and has seen each name once, and its own files"
  is "$(cat "$1"/dir/open{0..19})" "$(for i in {0..19}; do echo "$2 $i"; done)" "what it has written is there"
}
leaves() { # WHICH BRICK LOG: one of two, and the mount with that log is left with the other
  must "$1 is to leave" gi volume remove-brick v "$(brick "$2")" start
  ok "it is emptied" within 60 drained "$2"
  ok "it leaves" gi volume remove-brick v "$(brick "$2")" commit
  ok "the mount lets it go" within 20 spread 1 "$3" 1
}

mkdir "$M/dir"
(cd "$M/dir" && touch name{1..1500} open{0..19} && mkdir sub{1..20})

# ---- it shrinks to one ----
must "a program lists and has files open" hold "$M" shrinks
leaves "a brick" v-1 mnt
ends "$M" shrinks
is "$(cat "$WORK"/bricks/v-2/dir/open{0..19})" "$(cat "$M"/dir/open{0..19})" "on the brick that stays"
is "$(ls "$M/dir" | wc -l)" 1540 "nothing is missing"
ok "files and directories are made and removed as before" eval "cd $M/dir && mkdir new && touch new/file && mv new/file new/other && rm -r new"

# ---- mounted anew it grows to two, and the first one leaves ----
must "it is mounted by another one" mount_volume v "$WORK/other"
M=$WORK/other
must "a program lists and has files open" hold "$M" grows
must "a brick comes" gi volume add-brick v "$(brick new)" force
for m in mnt other; do ok "$m is connected to it" within 20 connected "$m" new; done
must "files move" gi volume rebalance v start
ok "until all have" within 60 moved
[ "$(find "$WORK/bricks/new/dir" -type f ! -perm -1000 | wc -l)" -gt 500 ] && pass "many have" || fail "many have"
ends "$M" grows
must "a program lists and has files open" hold "$M" again
leaves "the first brick" v-2 other
ends "$M" again
is "$(ls "$M/dir" | wc -l)" 1540 "nothing is missing"
done_testing
