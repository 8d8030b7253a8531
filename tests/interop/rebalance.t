#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A GlusterFS client and ours use a volume at the same time while it grows and shrinks: by a rebalance of ours, under which ours renames a tree of its own
# and theirs makes and changes files; and by GlusterFS's rebalance process on our bricks. Both see the same then, and put new files where cluster.nufa says.
. "$(dirname "$0")/../functional/lib.sh"
require_root
require_fuse
command -v glusterfs >/dev/null || skip_all "needs the packaged GlusterFS"
HOST=127.1.1.78 PORT=24007 # where its clients look for the ports of bricks; the address is this test's
must "the daemon starts" start_glusterishd
must "a volume is started" start_volume v 1 2
# Or GlusterFS's client asks where a name belonged by the layout it knows, and takes that for an answer, while files move to other places.
must "names are searched" gi volume set v cluster.lookup-optimize off
must "we mount it" mount_volume v "$WORK/mine"
brick() { echo "$HOST:$WORK/bricks/$1"; }

mount_theirs() {
  mkdir -p "$WORK/theirs"
  MOUNTS+=("$WORK/theirs")
  glusterfs -s "$HOST" "--volfile-server-port=$PORT" --volfile-id v -l "$WORK/theirs.log" -p "$WORK/theirs.pid" "$WORK/theirs" &&
    within 20 mountpoint -q "$WORK/theirs" && within 20 stat -t "$WORK/theirs"
}
must "GlusterFS mounts it" mount_theirs
trap 'mapfile -t pids < <(own_pids "$WORK"/*.pid); end_processes "${pids[@]}"; cleanup' EXIT

tree() {
  local dir=$1 seed=$2
  shift 2
  python3 "$GLUSTERISH_SRCDIR/tests/bench/grow.py" "$dir" "$seed" "$WORK/stop" 30 "$@"
}
begin() {
  rm -f "$WORK/stop"
  mkdir "$WORK/mine/a$1"
  # A listing that goes on while files move may show one of them twice, or not; all is listed in the end.
  tree "$WORK/mine/a$1" "$1" -list -remove -rmdir >"$WORK/a.out" 2>&1 &
  ours=$!
}
contents() { (cd "$1" && find . -type f -print0 | LC_ALL=C sort -z | xargs -0r md5sum && find . -printf '%y %m %p\n' | LC_ALL=C sort -k3); }
end() {
  touch "$WORK/stop"
  ok "$1: our client saw nothing wrong" wait "$ours"
  note "$(cat "$WORK/a.out")"
  is "$(diff <(contents "$WORK/mine" | grep -v '^d') <(contents "$WORK/theirs" | grep -v '^d') | head -n 20)" "" "$1: both see the same"
}
over() { gi volume "$@" status | awk 'NR == 3 {print $7}' | grep -qx completed; }
ours_uses() { grep -q "the volume is spread over $1 subvolumes now" "$WORK/mount-mine.log"; }
theirs_uses() { grep -q "attached to remote volume.*remote_subvol=$WORK/bricks/$1}" "$WORK/theirs.log"; }

begin 1
mkdir "$WORK/theirs/b1"
# It makes nothing meanwhile: what a client of GlusterFS makes as it takes another set of bricks fails now and then, on its own bricks too.
GROW_DOUBLED=1 tree "$WORK/theirs/b1" 1 -rename -replace -rename_dir -remove -rmdir -list -make -mkdir >"$WORK/b.out" 2>&1 &
theirs=$!
made() { [ "$(find "$WORK/theirs/b1" -type f | wc -l)" -ge 30 ]; }
ok "theirs has made its files" within 20 made
ok "a brick is added" gi volume add-brick v "$(brick n1)" force
ok "we use it" within 20 ours_uses 3
ok "so do they" within 20 theirs_uses n1
ok "a rebalance begins" gi volume rebalance v start
ok "it is completed" within 60 over rebalance v
note "$(gi volume rebalance v status)"
ok "a brick is to leave" gi volume remove-brick v "$(brick v-1)" start
ok "it is emptied" within 60 over remove-brick v "$(brick v-1)"
note "$(gi volume remove-brick v "$(brick v-1)" status)"
# GlusterFS's client makes linkto files where names belonged by the layout that it knows.
left() { find "$WORK/bricks/$1" -name .glusterfs -prune -o -type f -printf '%m %s %P\n'; }
is "$(left v-1 | grep -v '^1000 0 ')" "" "nothing is left on it"
note "linkto files: $(left v-1 | grep -c '^1000 0 ')"
is "$(getfattr --absolute-names -n trusted.glusterfs.dht.committed "$WORK"/bricks/* 2>/dev/null)" "" "nobody is told to search no names, beside a client of GlusterFS"
ok "it leaves" gi volume remove-brick v "$(brick v-1)" commit
end "a rebalance of ours"
ok "neither did theirs" wait "$theirs"
note "$(cat "$WORK/b.out")"

contents "$WORK/mine" >"$WORK/before"
ok "a brick is added" gi volume add-brick v "$(brick n2)" force
ok "they use it" within 20 theirs_uses n2
uuid=$(sed -n 's/^UUID=//p' "$WORK/d/glusterd.info")
ok "their rebalance begins" glusterfs -s "$HOST" "--volfile-server-port=$PORT" --volfile-id rebalance/v --process-name rebalance \
  --xlator-option '*dht.use-readdirp=yes' --xlator-option '*dht.lookup-unhashed=yes' --xlator-option '*dht.assert-no-child-down=yes' \
  --xlator-option '*dht.readdir-optimize=on' --xlator-option '*dht.rebalance-cmd=5' --xlator-option "*dht.node-uuid=$uuid" \
  --xlator-option '*dht.commit-hash=3737844653' -S "$WORK/their-rebalance.sock" -p "$WORK/their-rebalance.pid" -l "$WORK/their-rebalance.log"
their_end() { not_running "$(cat "$WORK/their-rebalance.pid")"; }
ok "it ends" within 90 their_end
note "$(grep -E 'rebalance|migrat' "$WORK/their-rebalance.log" | tail -n 5)"
is "$(diff "$WORK/before" <(contents "$WORK/mine") | head -n 20)" "" "we see what was there before"
is "$(diff <(grep -v '^d' "$WORK/before") <(contents "$WORK/theirs" | grep -v '^d') | head -n 20)" "" "so do they"
[ "$(find "$WORK/bricks/n2" -name .glusterfs -prune -o -type f -size +0 -print | wc -l)" -gt 3 ] && pass "the new brick has files" || fail "the new brick has files"

# A translator of its own for GlusterFS, an option for us. Its client ends with SIGSEGV now and then when that translator comes while it is mounted.
unmount "$WORK/theirs"
name=$(gi system:: getspec v | awk -v brick="$WORK/bricks/n1" '$1 == "volume" {name = $2} $2 == "remote-subvolume" && $3 == brick {print name}')
ok "new files are to go to one brick" gi volume set v cluster.local-volume-name "$name" cluster.nufa on
ok "GlusterFS mounts it anew" mount_theirs
near() {
  rm -rf "$WORK/mine/near" && mkdir "$WORK/mine/near" || return
  for i in $(seq 8); do echo "$i" >"$WORK/mine/near/m$i" && echo "$i" >"$WORK/theirs/near/t$i" || return; done
  [ "$(find "$WORK"/bricks/n1/near -type f ! -perm 1000 | wc -l)" = 16 ]
}
ok "they do, whoever makes them" within 30 near
is "$(cat "$WORK"/mine/near/t* "$WORK"/theirs/near/m* | sort | uniq -c | awk '$1 == 2' | wc -l)" 8 "and both find them"
done_testing
