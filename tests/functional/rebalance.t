#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A volume of replica sets grows and shrinks under a writer: what is in it stays what it is, files move to where they belong, and from
# bricks that are to leave.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/bricks.sh"
require_root
require_fuse
command -v setfattr setfacl >/dev/null || skip_all "needs setfattr and setfacl"
start_glusterishd
must "two plain bricks start" start_volume v 1 2
must "they are mounted" mount_volume v "$WORK/mnt" --acl
M=$WORK/mnt
brick() { echo "$HOST:$WORK/bricks/$1"; }

# ---- what is in it ----
mkdir -p "$M/sub/deep"
for i in $(seq 40); do head -c $((i * 3000)) /dev/urandom >"$M/file$i"; done
for i in $(seq 20); do echo "$i" >"$M/sub/name$i"; done
for i in $(seq 10); do echo "$i" >"$M/sub/deep/x$i"; done
ln -s file1 "$M/link"
truncate -s 5M "$M/holes" && echo data | dd of="$M/holes" bs=1 seek=3000000 conv=notrunc status=none
chmod 640 "$M/file3" && chown 12:34 "$M/file3" && touch -d 2001-02-03 "$M/file4"
setfattr -n user.color -v blue "$M/file5"
ok "an access control list is set" setfacl -m u:77:rw,g:88:r "$M/file6"
for i in 7 8 9 10; do ln "$M/file$i" "$M/sub/other$i" && ln "$M/file$i" "$M/sub/deep/third$i"; done
for i in $(seq 8); do ln "$M/file11" "$M/sub/many$i"; done
# What is no regular file may have several names too.
for i in 1 2 3 4; do ln -s "file$i" "$M/soft$i" && ln "$M/soft$i" "$M/sub/softer$i" && ln "$M/soft$i" "$M/sub/deep/softest$i"; done
for i in $(seq 40); do ln "$M/link" "$M/sub/links$i"; done
mkfifo "$M/pipe" && ln "$M/pipe" "$M/sub/pipe"
manifest() { describe_tree "$M" | sed -E "/^growing/d; /^locked/d; s/( 0o40[0-9]+ .*) [0-9]+\$/\1/" >"$WORK/manifest"; md5sum <"$WORK/manifest"; }
before=$(manifest)
cp "$WORK/manifest" "$WORK/was"

unchanged() {
  if [ "$(manifest)" = "$before" ]; then pass "what is in the volume is as it was"; else fail "what is in the volume is as it was" "$(diff "$WORK/was" "$WORK/manifest")"; fi
}

# A descriptor that stays open while its file is moved, of a user who could not open it: each record once, in order.
chmod 711 "$WORK" # the user is to see what tells him to stop
python3 - "$M/growing" "$WORK/stop" <<'PY' 2>"$WORK/errors" &
import os, sys, time
path, stop = sys.argv[1:]
fd = os.open(path, os.O_CREAT | os.O_RDWR, 0o644)
os.setuid(65534)
n = 0
while not os.path.exists(stop):
    os.pwrite(fd, b"%09d\n" % n, n * 10)
    k = n // 2
    if os.pread(fd, 10, k * 10) != b"%09d\n" % k:
        sys.exit("record %d is wrong" % k)
    n += 1
    time.sleep(0.001)
os.fsync(fd)
os.close(fd)
if open(path).read() != "".join("%09d\n" % i for i in range(n)):
    sys.exit("the file is not what was written")
PY
writer=$!

# A lock that is held all the time: its file stays where it is, and locked.
python3 - "$M/locked" "$WORK/unlock" <<'PY' 2>>"$WORK/errors" &
import fcntl, os, sys, time
path, stop = sys.argv[1:]
fd = os.open(path, os.O_CREAT | os.O_RDWR, 0o644)
fcntl.lockf(fd, fcntl.LOCK_EX)
while not os.path.exists(stop):
    time.sleep(0.05)
PY
holder=$!
locked() { [ -e "$M/locked" ] && ! python3 -c 'import fcntl, sys; fcntl.lockf(open(sys.argv[1], "r+"), fcntl.LOCK_EX | fcntl.LOCK_NB)' "$M/locked" 2>/dev/null; }
must "a file is locked" within 10 locked

# ---- it grows ----
out=$(gi volume rebalance v status 2>&1)
is "$out" "volume rebalance: v: failed: Rebalance not started for volume v." "nothing is moved yet"
ok "two bricks are added" gi volume add-brick v "$(brick new-1)" "$(brick new-2)" force
like "$(gi volume info v)" "^Number of Bricks: 4$" "volume info counts them"
spread() { grep -q "the volume is spread over $1 subvolumes now" "$WORK/mount-mnt.log"; }
ok "the mount uses them" within 20 spread 4
connected() { grep -q "connected to .*attached to $WORK/bricks/$1" "$WORK/mount-mnt.log"; }
for b in new-1 new-2; do ok "and is connected to $b" within 20 connected $b; done
unchanged
like "$(gi volume rebalance v start 2>&1)" "^volume rebalance: v: success: Rebalance on v has been started successfully" "a rebalance begins"
mover() { cat "$WORK"/d/vols/v/rebalance/*.pid 2>/dev/null; }
within 10 mover && first=$(mover) && kill -STOP "$first"
nice_of() { ps -o nice= -p "$1" | tr -d ' '; }
usual=$(nice_of "$DAEMON_PID")
is "$(nice_of "$first")" $((usual > 14 ? 19 : usual + 5)) "it gives way, and not to everybody: it would wait for a processor at each message"
kill -KILL "$first"
done_with() { gi volume rebalance v status | awk 'NR == 3 {print $7}' | grep -qx "$1"; }
ok "it is completed" within 60 done_with completed
note "$(gi volume rebalance v status)"
like "$(gi volume status v tasks)" "^Task +: Rebalance" "volume status tells of it"
like "$(cat "$WORK/d/vols/v/node_state.info")" "^status=3$" "and node_state.info"
unchanged
moved() { find "$WORK/bricks/$1" -name 'file*' -size +0 | wc -l; }
[ "$(moved new-1)" -gt 2 ] && [ "$(moved new-2)" -gt 2 ] && pass "the new bricks have files" || fail "the new bricks have files" "$(ls "$WORK"/bricks/new-*)"
# Of files with several names some belong elsewhere than the file is: they have linkto files.
ok "what was locked is locked" locked
marks_left() { find "$WORK/bricks" -path '*/.glusterfs' -prune -o -type f -perm -1000 \( -size +0 -o -perm -2000 -o -links 2 \) -print | grep -v '/\(locked\|file\|other\|third\|many\|soft\|softer\|softest\|links\|pipe\)[0-9]*$'; }
is "$(marks_left)" "" "no file is left with marks, and no linkto file where none is due"
is "$(find "$WORK"/bricks/*/ -path '*/.glusterfs' -prune -o -name 'file*' -size +0 -print | wc -l)" 40 "each file is on one brick"
holes=$(find "$WORK/bricks" -path '*/.glusterfs' -prune -o -name holes -size +0 -printf '%k\n')
[ "$holes" -lt 1000 ] && pass "a file with holes has them" || fail "a file with holes has them" "$holes KiB"

# All files are where they belong, or have linkto files there: who finds nothing where a name belongs need not search.
hash_of() { getfattr -h --absolute-names --only-values -n trusted.glusterfs.dht.committed "$WORK/bricks/$1" 2>/dev/null | tr -d '\0'; }
layout_hashes() { find "$WORK"/bricks/{v-1,v-2,new-1,new-2} -name .glusterfs -prune -o -type d -print0 | xargs -0 getfattr -h --absolute-names --only-values -n trusted.glusterfs.dht | od -An -v -tu4 --endian=big -w16 | awk '{print $1}' | sort -u; }
like "$(hash_of v-1)" '^[0-9]{2,10}$' "the root has a commit hash"
is "$(for b in v-1 v-2 new-1 new-2; do hash_of $b; echo; done | sort -u)" "$(hash_of v-1)" "on all bricks the same"
is "$(layout_hashes)" "$(hash_of v-1)" "and so have all layouts"

touch "$WORK/unlock" && wait "$holder"
nok "and then is not" locked

# ---- it shrinks ----
out=$(gi volume remove-brick v "$(brick v-1)" commit 2>&1)
like "$out" "is not decommissioned. Use start or force option" "a brick that was not emptied does not leave"
places() { (cd "$WORK/bricks" && find v-2 new-1 new-2 -name .glusterfs -prune -o -type f -links 2 ! -perm 1000 -printf '%P %H\n' | LC_ALL=C sort); }
places >"$WORK/places"
like "$(gi volume remove-brick v "$(brick v-1)" start 2>&1)" "^volume remove-brick start: success" "a brick is to leave"
drained() { gi volume remove-brick v "$(brick v-1)" status | awk 'NR == 3 {print $7}' | grep -qx completed; }
ok "it is emptied" within 60 drained
left=$(find "$WORK/bricks/v-1" -path '*/.glusterfs' -prune -o -type f -print -o -type l -print)
is "$left" "" "nothing is left on it"
# Layouts keep as much as they can: of the files that need not move, hard links left out, few do.
stayed=$(places | LC_ALL=C join - "$WORK/places" | awk '$2 == $3 {same++} $2 != $3 {other++} END {print same + 0, other + 0}')
note "between bricks that stay: $stayed (there, elsewhere)"
[ "${stayed#* }" -lt $((${stayed% *} / 2)) ] && pass "most of what is on other bricks stays" || fail "most of what is on other bricks stays" "$stayed"
unchanged
like "$(gi volume remove-brick v "$(brick v-1)" commit 2>&1)" "^volume remove-brick commit: success" "it leaves"
like "$(gi volume info v)" "^Number of Bricks: 3$" "volume info no longer counts it"
ok "the mount lets it go" within 20 spread 3
unchanged

touch "$WORK/stop"
ok "the writer saw no error" wait "$writer"
is "$(cat "$WORK/errors")" "" "nor a wrong byte"
done_testing
