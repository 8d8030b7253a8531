#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A client of GlusterFS on another machine mounts where auth.allow lists it, and is told neither volfile nor ports where it does not.
NS=glusterish-idoors-$$ NET=10.214.$((RANDOM % 250))
. "$(dirname "$0")/../functional/lib.sh"
HOST=$NET.1 PORT=24007 # where its clients look for the ports of bricks
require_root
require_fuse
command -v glusterfs >/dev/null || skip_all "needs the packaged GlusterFS"
ip netns add "$NS" 2>/dev/null && ip link add "gi$$" type veth peer name eth0 netns "$NS" 2>/dev/null ||
  { ip netns del "$NS" 2>/dev/null; skip_all "needs network namespaces"; }
trap 'kill "$(cat "$WORK/real.pid" 2>/dev/null)" 2>/dev/null; umount -l "$WORK/m" 2>/dev/null; ip netns del "$NS"; cleanup' EXIT
ip addr add "$NET.1/24" dev "gi$$" && ip link set "gi$$" up
ip -n "$NS" addr add "$NET.2/24" dev eth0 && ip -n "$NS" link set eth0 up
must "the daemon starts" start_glusterishd
must "a volume is started" start_volume v 3
mkdir "$WORK/m"
real() {
  nsenter --net="/run/netns/$NS" timeout 20 glusterfs -s "$HOST" --volfile-server-port=$PORT --volfile-id v -l "$WORK/real.log" -p "$WORK/real.pid" "$WORK/m"
}
serves() { timeout 10 dd if=/dev/urandom of="$WORK/m/$1" bs=100k count=5 conv=fsync status=none; }

must "its address is listed" gi volume set v auth.allow "$NET.2"
ok "it mounts" real
ok "and finds the bricks" within 20 serves file
ok "all of them" cmp "$WORK/bricks/v-1/file" "$WORK/bricks/v-3/file"
umount "$WORK/m" || umount -l "$WORK/m"
must "another one is listed" gi volume set v auth.allow 192.0.2.1
real 2>/dev/null
nok "it does not mount" mountpoint -q "$WORK/m"
ok "as the log says" grep -q "the volfile of v is refused to $NET.2:" "$WORK/d/log/glusterishd.log"
done_testing
