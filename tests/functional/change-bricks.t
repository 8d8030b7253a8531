#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Bricks of a replicated volume are replaced, reset, added and removed under a running mount that is written and read: the
# application sees no error, the other bricks hold against a new one what it lacks, and nothing is read from it.
. "$(dirname "$0")/lib.sh"
require_root
require_fuse
command -v getfattr >/dev/null || skip_all "needs getfattr"
start_glusterishd
must "the volume starts" start_volume v 3
gi volume set v cluster.self-heal-daemon off >/dev/null 2>&1 # what is left for it to do is what this test looks at
must "it mounts" mount_volume v "$WORK/mnt"
client=$(pgrep -f "glusterishfs.*$WORK/mnt" | head -n 1)
mkdir -p "$WORK/mnt/old/dir" && echo before >"$WORK/mnt/old/file"

# Writes a file through one descriptor, makes and lists names, and checks all it reads, until told to stop.
worker() {
  python3 - "$WORK/mnt" "$WORK/stop" "$WORK/turns" <<'PY'
import os, sys
mnt, stop, turns = sys.argv[1:]
n, fd = 0, os.open(mnt + "/data", os.O_CREAT | os.O_RDWR, 0o644)
while not os.path.exists(stop):
    os.pwrite(fd, b"%08d" % n * 512, n % 512 * 4096)
    if n % 10 == 0:
        os.fsync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    k = max(n - 200, 0)
    if os.pread(fd, 4096, k % 512 * 4096) != b"%08d" % k * 512:
        sys.exit("record %d is wrong" % k)
    name = "%s/name%d" % (mnt, n % 50)
    if n >= 50:
        os.unlink(name)
    with open(name, "w") as f:
        f.write("%d" % n)
    if n > 60 and n % 20 == 0:
        if len([x for x in os.listdir(mnt) if x.startswith("name")]) != 50:
            sys.exit("names are missing")
        if open(mnt + "/old/file").read() != "before\n" or os.listdir(mnt + "/old/dir"):
            sys.exit("the old file is wrong")
    n += 1
    with open(turns, "w") as f:
        f.write("%d\n" % n)
PY
}

worker >"$WORK/out" 2>"$WORK/errors" &
io=$!
turns() { cat "$WORK/turns" 2>/dev/null || echo 0; }
beyond() { [ "$(turns)" -gt "$1" ]; }
# The application goes on after a change: a good number of turns, so that delayed marks and late opens are part of it.
goes_on() {
  local now
  now=$(turns)
  if within 30 beyond $((now + ${2:-150})) && kill -0 "$io" 2>/dev/null; then pass "$1"; else fail "$1" "$(cat "$WORK/errors")" "$(tail -n 5 "$WORK/mount-mnt.log")"; fi
}
mark() { getfattr --absolute-names --only-values -n "trusted.afr.$2" -e hex "$WORK/bricks/$1" 2>/dev/null | od -An -tx1 | tr -d ' \n'; }
# blamed BRICK KEY: all three slots of the root's counter are set
blamed() {
  local m
  m=$(mark "$1" "$2")
  [ ${#m} = 24 ] && [ "${m:0:8}" != 00000000 ] && [ "${m:8:8}" != 00000000 ] && [ "${m:16:8}" != 00000000 ]
}
brick() { echo "$HOST:$WORK/bricks/$1"; }
ids() { gi system:: getspec v 2>/dev/null | sed -n 's/.*afr-pending-xattr //p'; }
connected() { grep -q "connected to .*attached to $WORK/bricks/$1" "$WORK/mount-mnt.log"; }
logged() { [ "$(grep -c "$1" "$WORK/mount-mnt.log")" -ge "${2:-1}" ]; }
goes_on "the application runs"

# ---- replace-brick ----

is "$(gi volume replace-brick v "$(brick v-3)" "$(brick new-3)" commit force 2>&1)" \
  "volume replace-brick: success: replace-brick commit force operation successful" "a brick is replaced"
goes_on "the application goes on"
ok "the mount uses the new brick" within 10 connected new-3
is "$(ids)" "v-client-0,v-client-1,v-client-2" "the new brick has the id of the old one"
ok "the first brick holds everything against it" blamed v-1 v-client-2
ok "and the second" blamed v-2 v-client-2
is "$(mark new-3 dirty)" 000000000000000000000001 "its own root is marked as not clean"
like "$(gi volume info v)" "^Brick3: $HOST:$WORK/bricks/new-3$" "volume info lists it in the old place"
like "$(gi volume status v | tr -d '\n')" "Brick $HOST:$WORK/bricks/new-3 *[0-9]+" "volume status shows it online"
ok "the old brick's process is gone" test -z "$(brick_pid v "$WORK/bricks/v-3")"
ok "new files reach the new brick" within 10 test -e "$WORK/bricks/new-3/name7"
nok "old ones are left to the self-heal" test -e "$WORK/bricks/new-3/old"
is "$(ls "$WORK/mnt/old" | tr '\n' ' ')" "dir file " "listings come from a brick that has everything"

out=$(gi volume replace-brick v "$(brick v-3)" "$(brick x)" commit force 2>&1)
is "$out" "volume replace-brick: failed: brick: $(brick v-3) does not exist in volume: v" "a brick that is not there any more"
out=$(gi volume replace-brick v "$(brick new-3)" "$(brick v-2)" commit force 2>&1)
like "$out" "not available. Brick may be containing or be contained by an existing brick" "a place that is taken"
out=$(gi volume replace-brick v "$(brick new-3)" "$HOST:$WORK/d.pid/x" commit force 2>&1)
like "$out" "^volume replace-brick: failed: Failed to create brick directory" "a directory that cannot be made"
ok "and the old brick still runs" within 10 test -n "$(brick_pid v "$WORK/bricks/new-3")"
like "$(gi --xml volume replace-brick v "$(brick v-3)" "$(brick x)" commit force)" "<opRet>-1</opRet>" "XML tells a failure"

# ---- reset-brick ----

is "$(gi volume reset-brick v "$(brick new-3)" "$(brick new-3)" commit 2>&1)" \
  "volume reset-brick: failed: Source brick must be stopped. Please use gluster volume reset-brick <volname> <dst-brick> start." \
  "a running brick is not reset"
is "$(gi volume reset-brick v "$(brick new-3)" start 2>&1)" "volume reset-brick: success: reset-brick start operation successful" \
  "reset-brick start"
is "$(brick_pid v "$WORK/bricks/new-3")" "" "stops the brick"
goes_on "the application goes on"
like "$(gi volume reset-brick v "$(brick new-3)" "$(brick new-3)" commit 2>&1)" "Brick not available.It may be containing" \
  "a directory with the old data needs force"
rm -rf "$WORK/bricks/new-3"
is "$(gi volume reset-brick v "$(brick new-3)" "$(brick new-3)" commit force 2>&1)" \
  "volume reset-brick: success: reset-brick commit force operation successful" "reset-brick commit force"
ok "the first brick holds everything against it" blamed v-1 v-client-2
goes_on "the application goes on"
ok "new files reach it" within 10 test -e "$WORK/bricks/new-3/name7"

# ---- add-brick, remove-brick ----

is "$(gi volume add-brick v replica 4 "$(brick four)" 2>&1 | cut -c1-80)" \
  "volume add-brick: failed: Multiple bricks of a replicate volume are present on t" "several bricks on one host need force"
is "$(gi volume add-brick v replica 3 "$(brick four)" force 2>&1)" \
  "volume add-brick: failed: Incorrect replica count (3) supplied. Volume already has (3)" "the same number of copies"
is "$(gi volume add-brick v replica 4 "$(brick four)" force 2>&1)" "volume add-brick: success" "a fourth brick is added"
ok "the mount takes it in" within 20 logged "the replica set has 4 children now"
ok "and connects to it" within 10 connected four
goes_on "the application goes on"
is "$(ids)" "v-client-0,v-client-1,v-client-2,v-client-3" "its id is new"
for b in v-1 v-2; do ok "$b holds everything against it" blamed $b v-client-3; done
is "$(mark four dirty)" 000000000000000000000001 "its own root is marked as not clean"
like "$(gi volume info v)" "^Number of Bricks: 1 x 4 = 4$" "volume info counts it"
ok "new files reach it" within 10 test -e "$WORK/bricks/four/name7"
nok "old ones are left to the self-heal" test -e "$WORK/bricks/four/old"

is "$(gi volume remove-brick v replica 3 "$(brick nowhere)" force 2>&1)" \
  "volume remove-brick commit force: failed: Incorrect brick $(brick nowhere) for volume v" "a brick that is not there"
is "$(gi volume remove-brick v replica 2 "$(brick new-3)" force 2>&1)" \
  "volume remove-brick commit force: failed: need 2(xN) bricks for reducing replica count of the volume from 4 to 2" "too few bricks"
is "$(gi volume remove-brick v replica 3 "$(brick new-3)" force 2>&1)" "volume remove-brick commit force: success" "one in the middle is removed"
ok "the mount lets it go" within 20 logged "the replica set has 3 children now"
goes_on "the application goes on"
is "$(ids)" "v-client-0,v-client-1,v-client-3" "the others keep their ids"
ok "its process is gone" test -z "$(brick_pid v "$WORK/bricks/new-3")"
ok "and so are its files" test -z "$(ls "$WORK"/d/vols/v/bricks | grep new-3)"
ok "the fourth still gets new files" within 10 test -e "$WORK/bricks/four/name7"
is "$(gi --xml volume remove-brick v replica 2 "$(brick four)" force | grep -c "<volRemoveBrick/>")" 1 "another is removed"
ok "the mount lets it go" within 20 logged "the replica set has 2 children now"
goes_on "the application goes on"
like "$(gi volume add-brick v replica 4 arbiter 1 "$(brick x)" "$(brick y)" force 2>&1)" "arbiter count must be 1" "an arbiter is the third"
is "$(gi volume add-brick v replica 3 arbiter 1 "$(brick judge)" force 2>&1)" "volume add-brick: success" "two copies get an arbiter"
ok "the mount takes it in" within 20 logged "the replica set has 3 children now" 2
ok "and connects to it" within 10 connected judge
goes_on "the application goes on"
like "$(gi volume info v)" "^Number of Bricks: 1 x \(2 \+ 1\) = 3$" "volume info counts it apart"
for b in v-1 v-2; do ok "$b holds everything against it" blamed $b v-client-2; done
ok "new names reach it" within 10 test -e "$WORK/bricks/judge/name7"
is "$(stat -c %s "$WORK/bricks/judge"/name* | sort -u)" 0 "but no data"
is "$(gi volume add-brick v replica 4 "$(brick x)" force 2>&1)" \
  "volume add-brick: failed: Increasing replica count for arbiter volumes is not supported." "that is all that can be added"
is "$(gi volume remove-brick v replica 2 "$(brick judge)" force 2>&1)" "volume remove-brick commit force: success" "the arbiter is removed"
ok "the mount lets it go" within 20 logged "the replica set has 2 children now" 2
goes_on "the application goes on"
is "$(gi --xml volume add-brick v replica 3 "$(brick five)" force | sed -n 's/ *<output>\(.*\)<.*/\1/p')" "Add Brick successful" \
  "from two to three copies"
is "$(gi volume add-brick v replica 3 arbiter 1 "$(brick x)" force 2>&1)" \
  "volume add-brick: failed: Cannot convert replica 3 volume to arbiter volume." "three copies get no arbiter"
ok "the mount takes it in" within 20 logged "the replica set has 3 children now" 3
ok "and connects to it" within 10 connected five
goes_on "the application goes on"
is "$(ids)" "v-client-0,v-client-1,v-client-2" "an id that is free is used again"
ok "new files reach it" within 10 test -e "$WORK/bricks/five/name7"

# The daemon comes back with what it knew.
before=$(gi volume info v; gi system:: getspec v)
stop_glusterishd
ok "the daemon is started again" start_glusterishd
is "$(gi volume info v; gi system:: getspec v)" "$before" "and knows the volume as it was"
goes_on "the application goes on"

# ---- the end ----

touch "$WORK/stop"
ok "the application saw no error" wait "$io"
is "$(cat "$WORK/errors")" "" "nor a wrong byte"
note "$(turns) turns"
same_data() { [ "$(md5sum <"$WORK/bricks/v-1/data")" = "$(md5sum <"$WORK/bricks/v-2/data")" ]; }
ok "the bricks that stayed are identical" within 10 same_data
is "$(pgrep -f "glusterishfs.*$WORK/mnt" | head -n 1)" "$client" "the mount is the same process"
done_testing
