#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A volume of GlusterFS over several replica sets, with all that it gets over time: bricks of different sizes, renamed files, further names, holes, access
# control lists, a fix-layout, a rebalance that was killed, bricks that leave. Our client uses it at the same time throughout; in the end our daemon and
# bricks serve it.
. "$(dirname "$0")/glusterd.sh"
. "$(dirname "$0")/../functional/lib.sh"
. "$(dirname "$0")/../functional/bricks.sh"
. "$(dirname "$0")/tree.sh"
require_root
require_fuse
command -v setfacl >/dev/null || skip_all "needs setfacl"

bricks() { for i in "$@"; do echo "$ADDRESS:$WORK/b$i/d"; done; }
# The first set is small, the second large, the third smaller still.
make_disks() {
  local i size
  for i in $(seq 9); do
    size=$((i <= 3 ? 100 : i <= 6 ? 300 : 50))
    mkdir "$WORK/b$i" && mount -t tmpfs -o size=${size}m tmpfs "$WORK/b$i" || return 1
    MOUNTS+=("$WORK/b$i")
  done
}
# Without the times of directories; and what was on its way when its rebalance was killed, GlusterFS's next one gives the marks for a mode.
manifest() { describe_tree "$1/keep" | sed -E 's/^([^ ]+ 0o4[0-9]+ [0-9]+ [0-9]+) [0-9]+/\1/; s/ 0o103644 / 0o100644 /'; }
same_as() { is "$(diff -a "$WORK/$1" <(manifest "$2") | head -n 10)" "" "$3"; }
spread() { [ "$(grep -o 'spread over [0-9]* subvolumes now' "$WORK/mount-mine.log" | tail -n 1)" = "spread over $1 subvolumes now" ]; }
layouts() { (cd "$WORK" && for i in "$@"; do getfattr -h -d -m 'trusted.glusterfs.dht' -e hex b[147]/d/"$i" 2>/dev/null; done); }

must "GlusterFS starts" start_glusterd
must "there are disks" make_disks
must "it has a volume" gl volume create v replica 3 $(bricks 1 2 3 4 5 6) force
must "which starts" gl volume start v
must "it mounts it" mount_theirs v "$WORK/theirs"
mkdir -p "$WORK/mine" "$WORK/below"
HOST=$ADDRESS PORT=24007
must "we mount it" mount_volume v "$WORK/mine" --acl
T=$WORK/theirs M=$WORK/mine

# ---- as it is ----
mkdir "$T/keep" && make_tree "$T/keep/t"
mkdir "$T/keep/big" && for i in $(seq 24); do head -c 1M /dev/urandom >"$T/keep/big/b$i"; done
truncate -s 10M "$T/keep/big/holes" && echo data | dd of="$T/keep/big/holes" bs=1 seek=6000000 conv=notrunc status=none
setfacl -m u:77:rw "$T/keep/t/f11" && setfacl -d -m g:88:rx "$T/keep/t/sub" && setfattr -n user.color -v blue "$T/keep/t/f12" && setfattr -n user.where -v here "$T/keep/t/deep2"
chown 12:34 "$T/keep/t/f13" && touch -d 2001-02-03 "$T/keep/t/f14"
manifest "$T" >"$WORK/was"
same_as was "$M" "we see all of it"
mkdir "$T/keep/t/new" && layouts keep/t/new >"$WORK/layout.theirs" && rmdir "$T/keep/t/new"
mkdir "$M/keep/t/new" && layouts keep/t/new >"$WORK/layout.mine" && rmdir "$M/keep/t/new"
is "$(cat "$WORK/layout.mine")" "$(cat "$WORK/layout.theirs")" "we give a directory the layout that it gives, by the sizes of disks"
must "we mount a directory of it" mount_volume v "$WORK/below" --subdir-mount=/keep/t
is "$(diff -a <(contents "$WORK/below") <(contents "$T/keep/t") | head -n 5)" "" "and see what is in it"

# ---- it grows, while both use it ----
# Or GlusterFS's client asks where a name belonged by the layout it knows, and takes that for an answer, while files move to other places.
ok "names are searched" gl volume set v cluster.lookup-optimize off
load() {
  rm -f "$WORK/stop"
  mkdir -p "$M/ours$1" "$T/theirs$1" "$T/both$1"
  python3 "$GLUSTERISH_SRCDIR/tests/bench/grow.py" "$M/ours$1" "$1" "$WORK/stop" 40 -list -rename_dir -rmdir >"$WORK/load.ours" 2>&1 &
  loads=($!)
  GROW_DOUBLED=1 python3 "$GLUSTERISH_SRCDIR/tests/bench/grow.py" "$T/theirs$1" "$1" "$WORK/stop" 20 -rename -replace -rename_dir -remove -rmdir -list >"$WORK/load.theirs" 2>&1 &
  loads+=($!)
  python3 "$GLUSTERISH_SRCDIR/tests/interop/pass.py" "$M/both$1" "$T/both$1" "$WORK/stop" >"$WORK/load.both" 2>&1 &
  loads+=($!)
}
load_ends() {
  local i=0 who
  touch "$WORK/stop"
  for who in ours theirs both; do
    ok "$1: who uses it saw nothing wrong ($who)" wait "${loads[$i]}"
    note "$(tail -n 15 "$WORK/load.$who")"
    i=$((i + 1))
  done
}
ok "it gets a set more" gl volume add-brick v $(bricks 7 8 9) force
ok "we use it" within 20 spread 3
ok "directories get new layouts" gl volume rebalance v fix-layout start
ok "all of them" within 300 rebalanced v
same_as was "$M" "nothing has changed for us"
layouts keep/t keep/t/deep2 keep/big >"$WORK/fixed"
like "$(cat "$WORK/fixed")" 'dht=0x' "they have layouts"
load 1
ok "files begin to move" gl volume rebalance v start force
moving() { find "$WORK"/b?/d/keep/big -name 'b*' -perm -3000 -size +0 2>/dev/null | grep -q .; }
tries=0
until moving || ! pid=$(mover_pid) || [ $((tries++)) -gt 500 ]; do sleep 0.01; done
moving && note "some are on their way"
kill -KILL "${pid:-$(mover_pid)}"
for i in $(seq 24); do echo more >>"$M/keep/big/b$i"; done
manifest "$M" >"$WORK/half"
is "$(diff -a "$WORK/was" "$WORK/half" | grep -ac '^>')" 24 "it was killed: we see what was there, and what we have added"
# GlusterFS takes names for missing that its rebalance has not come to (it knows where they belong by now, and asks there alone), until that has ended.
gl volume rebalance v stop >/dev/null 2>&1
ok "it begins again" gl volume rebalance v start force
ok "and is completed" within 300 rebalanced v
load_ends "a rebalance of theirs"
same_as half "$T" "nothing is lost for GlusterFS"
same_as half "$M" "nor for us"

# ---- it shrinks ----
load 2
ok "the third set is to leave" gl volume remove-brick v $(bricks 7 8 9) start
ok "it is emptied" within 300 removed v $(bricks 7 8 9)
load_ends "bricks that leave"
# GlusterFS's rebalance walks once: it leaves what somebody renames meanwhile from a directory that it has not come to into one that it has seen, also if all
# clients are its own.
is "$(find "$WORK"/b7/d/keep -type f -size +0 -print)" "" "nothing is left on it of what stayed where it was"
note "left: $(find "$WORK"/b7/d -name .glusterfs -prune -o -type f -size +0 -print)"
leave() { gl volume remove-brick v $(bricks 7 8 9) commit || gl volume remove-brick v $(bricks 7 8 9) force; } # it counts as skipped what others have moved
ok "it leaves" leave
ok "we let it go" within 20 spread 2
same_as half "$T" "nothing is lost for GlusterFS"
same_as half "$M" "nor for us"

# ---- and then it is ours ----
for dir in "$T" "$M" "$WORK/below"; do unmount "$dir"; done
stop_glusterd
cp -a /var/lib/glusterd "$WORK/d"
must "our daemon starts with its definitions" start_glusterishd
like "$(gi volume info v)" "Number of Bricks: 2 x 3 = 6" "and knows the volume"
online() { [ "$(gi volume status v --json | jq '[.. | objects | select(.path? // "" | endswith("/d")) | select(.online == true or .status == 1 or .online == "Y")] | length')" = 6 ]; }
ok "its bricks start" within 30 online
must "we mount it" mount_volume v "$WORK/mine" --acl
must "so does GlusterFS" mount_theirs v "$WORK/theirs"
same_as half "$M" "we see all of it"
same_as half "$T" "so does GlusterFS"
for i in 7 8 9; do mkdir "$WORK/b$i/e"; done
ok "it gets a set more" gi volume add-brick v $(bricks 7 8 9 | sed 's|d$|e|') force
ok "we use it" within 20 spread 3
theirs_use() { [ "$(grep -c "attached to remote volume.*remote_subvol=$WORK/b[789]/e}" "$WORK/mount-theirs.log")" -ge 3 ]; }
ok "so does GlusterFS" within 20 theirs_use
load 3 # a directory that its client makes as it takes the new bricks is refused by one of them, now and then
begun() { [ "$(find "$M/ours3" "$T/theirs3" -type f | wc -l)" -ge 50 ]; }
within 20 begun
ok "a rebalance of ours begins" gi volume rebalance v start force
ours_over() { gi volume rebalance v status | awk 'NR == 3 {print $7}' | grep -qx completed; }
# It waits a minute for a mount that does not know the new bricks, and beside other work each file may take seconds: what counts is that it goes on.
counters() { gi volume rebalance v status | awk 'NR == 3 {print $2, $3, $4, $5, $6}'; }
ok "it is completed" advances 90 counters ours_over
note "$(gi volume rebalance v status)"
load_ends "a rebalance of ours"
same_as half "$M" "nothing is lost for us"
same_as half "$T" "nor for GlusterFS"
[ "$(find "$WORK/b7/e" -name .glusterfs -prune -o -type f -size +0 -print | wc -l)" -gt 3 ] && pass "the new bricks have files" || fail "the new bricks have files"
done_testing
