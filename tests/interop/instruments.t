#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What GlusterFS' instruments print for a volume of its own, and what ours do for one of ours with the same load: the same words,
# labels, elements and keys; figures aside. Both daemons are in a network of their own, so that GlusterFS' can have its port.
if [ -z "${IN_OWN_NETWORK:-}" ] && [ "$(id -u)" = 0 ] && unshare -nm true 2>/dev/null; then
  IN_OWN_NETWORK=1 exec unshare -nm --propagation private "$(dirname "$0")/../functional/own-mounts" bash "$0" "$@"
fi
. "$(dirname "$0")/../functional/lib.sh"
. "$(dirname "$0")/../bench/gluster.sh"
require_root
require_fuse
[ -n "${IN_OWN_NETWORK:-}" ] || skip_all "needs network namespaces"
command -v glusterd >/dev/null || skip_all "needs the packaged GlusterFS"
ip link set lo up || skip_all "needs ip"
for dir in /var/log/glusterfs /var/run/gluster; do mkdir -p $dir && mount -t tmpfs tmpfs $dir; done
mkdir -p /var/log/glusterfs/bricks

make_work
wait_for() { within "$@"; }
gdir=$WORK/gluster gport=24007
theirs_down() {
  local status=$?
  mountpoint -q "$gdir/mnt" && unmount "$gdir/mnt"
  gluster_down v >/dev/null 2>&1
  (exit $status)
  cleanup
}
trap theirs_down EXIT

must "GlusterFS' volume starts" gluster_up v
must "ours does" start_glusterishd
must "with as many bricks" start_volume v 3
must "GlusterFS' is mounted" glusterfs -s 127.1.1.1 --volfile-id v -l "$gdir/log/mnt.log" "$gdir/mnt"
must "ours is" mount_volume v "$WORK/mnt"
BRICK=$HOST:$WORK/bricks/v-1 GBRICK=127.1.1.1:$gdir/bricks/b1

load() {
  mkdir "$1/dir"
  head -c 200000 /dev/zero >"$1/dir/file"
  cat "$1/dir/file" >/dev/null
  ls -l "$1/dir" >/dev/null
}
sed_names() { sed -e "s,$gdir/bricks/b[0-9],BRICK,g; s,$WORK/bricks/v-[0-9],BRICK,g" -e 's/[0-9]\+/N/g' -e 's/ \+/ /g' -e 's/-\{5,\}/---/g'; }
labels() { sed -n 's/ *:.*//p' | sort -u; }
elements() { grep -o '<[a-zA-Z]\+' | sort -u; }

# same NAME FILTER COMMAND...: what both print is the same, after the filter; GBRICK in the command is a brick of the other volume.
same() {
  local name=$1 filter=$2 ours theirs
  shift 2
  ours=$(gi "${@/GBRICK/$BRICK}" 2>&1 | $filter)
  theirs=$(gg "${@/GBRICK/$GBRICK}" 2>&1 | $filter)
  is "$ours" "$theirs" "$name"
}

same "profile is not started" sed_names volume profile v info
same "it starts" sed_names volume profile v start
same "it is started" sed_names volume profile v start
load "$gdir/mnt"
load "$WORK/mnt"
frame() { sed_names | grep -vE '^ N\.N|Size|Reads|Writes|^ $'; } # the kinds and sizes differ, as what the clients send does
same "profile info has the same lines" frame volume profile v info
same "and elements" elements --xml volume profile v info
same "so when it is cleared" elements --xml volume profile v info clear
interval() { frame | grep -vE 'latency|^ ---'; } # a daemon may have done nothing in it
same "of an interval" interval volume profile v info incremental peek
header() { sed_names | grep -vE '^N' | sed 's,time: .*,time,'; }
same "top open" header volume top v open brick GBRICK
same "top write" sed_names volume top v write brick GBRICK list-cnt 0
same "top write has the same elements" elements --xml volume top v write
same "top is cleared" sed_names volume top v clear brick GBRICK
same "a bad count is refused" sed_names volume top v write list-cnt 101
same "status detail has the same labels" labels volume status v detail
same "and elements" elements --xml volume status v detail
same "status mem has the same labels" labels volume status v GBRICK mem
same "status clients has the same elements" elements --xml volume status v clients
heads() { sed_names | sort -u | grep -v '^N'; }
same "and lines" heads volume status v GBRICK clients
same "no lock is cleared" sed_names volume clear-locks v /dir/file kind all posix
same "a path that is not there is told" sed_names volume clear-locks v /nosuch kind all inode
same "words that are wrong are told" sed_names volume clear-locks v /dir all inode

keys() { sed -n 's/^\(.*\): .*/\1/p' "$1" | grep -v '\.options\.' | sort; }
gi get-state odir "$WORK" file ours detail >/dev/null
gg get-state odir "$WORK" file theirs detail >/dev/null
is "$(keys "$WORK/ours")" "$(keys "$WORK/theirs")" "get-state has the same keys"
# What glustercli of PyPI reads out of both: the same members of the same types. GLUSTERCLI_PYTHON: an interpreter that has it.
python=${GLUSTERCLI_PYTHON:-python3}
if "$python" -c 'import glustercli' 2>/dev/null; then
  parsed() { "$python" "$(dirname "$0")/parsed.py" "$@" v; }
  theirs=$(parsed gluster "$gdir/glusterd.socket") ours=$(parsed "$GLUSTERISH" "$SOCK")
  is "$ours" "$theirs" "glustercli reads the same out of both"
  is "$(grep 'cannot be parsed' <<<"$ours")" "" "and all of it"
else
  note "glustercli of PyPI is not installed"
fi

same "profile stops" sed_names volume profile v stop
done_testing
