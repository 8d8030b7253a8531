#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A client of GlusterFS mounts from our daemon with TLS everywhere, management too, and all of its layers: with the credentials that pool tls
# client makes, where it looks for them. A namespace of its own hides the files of this machine.
. "$(dirname "$0")/../functional/lib.sh"
require_root
require_fuse
command -v glusterfs >/dev/null || skip_all "needs the packaged GlusterFS"
unshare -m true 2>/dev/null || skip_all "needs mount namespaces"
for place in /etc/ssl /usr/lib/ssl; do [ -d $place ] && places+=" $place"; done

HOST=127.1.1.77 PORT=24007 # where its clients look for the ports of bricks; the address is this test's
must "the daemon starts" start_glusterishd
must "a volume is started" start_volume v 3
must "it is encrypted" gi pool tls enable
must "and takes nobody else" gi pool tls require
made=$(gi pool tls client real)
files=$WORK/files # as they were copied to the client
cp -r "$made" "$files"
mkdir "$WORK/m"

# inside COMMAND...: in the namespace, on the mount
cat >"$WORK/inside" <<X
set -e
for place in$places /var/lib/glusterd; do
  mkdir -p \$place
  mount -t tmpfs none \$place
done
for place in$places; do cp "$files"/glusterfs.* \$place; done
cp "$files/secure-access" /var/lib/glusterd
glusterfs -s $HOST --volfile-server-port=$PORT --volfile-id v -l "$WORK/real.log" -p "$WORK/real.pid" "$WORK/m"
for n in 1 2 3; do
  timeout 10 dd if=/dev/urandom of="$WORK/m/f\$n" bs=100k count=20 conv=fsync 2>/dev/null
  timeout 10 mkdir -p "$WORK/m/d\$n"
done
timeout 10 md5sum "$WORK"/m/f? | sed 's, .*/, ,' >"$WORK/sums"
timeout 10 ls -l "$WORK/m" >/dev/null
umount "$WORK/m" || umount -l "$WORK/m"
X
# works WHEN
works() {
  rm -f "$WORK/sums" "$WORK/real.pid"
  ok "$1: a client of GlusterFS mounts, writes and reads" timeout -k 5 60 unshare -m "$(dirname "$0")/../functional/own-mounts" bash "$WORK/inside"
  [ -s "$WORK/real.pid" ] && kill "$(cat "$WORK/real.pid")" 2>/dev/null
  like "$(cat "$WORK/sums")" " f3$" "$1: all of it"
  is "$(cd "$WORK/bricks/v-1" && md5sum f? | sed 's,  , ,')" "$(cat "$WORK/sums")" "$1: and it is on a brick"
}
works "with what it was given"
for n in 1 2; do
  ok "the authority has another successor" gi pool tls rotate --authority
  works "$n later"
  cp "$made"/glusterfs.pem "$made"/glusterfs.key "$files" # what it shows is new; whom it trusts is not
done
done_testing
