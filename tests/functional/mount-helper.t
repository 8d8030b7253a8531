#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What mount(8) and fstab want of a mount, by mount.glusterish on a real volume: options that act, remounts, the inode numbers of
# listings, users of many groups, file handles, an end in order.
. "$(dirname "$0")/lib.sh"
require_root
require_fuse
HELPER=$GLUSTERISH_BUILDDIR/programs/mount/mount.glusterish
must "the management daemon starts" start_glusterishd
must "a volume is started" start_volume v 3
M="$WORK/my mnt"
mkdir "$M"
chmod 755 "$WORK"
MOUNTS+=("$M")

# helper OPTIONS: mounts, or mounts again.
helper() { timeout 60 "$HELPER" "$HOST:/v" "$M" -o "server-port=$PORT,log-file=$WORK/mount.log,$1"; }
options() { awk -v p="${M// /\\\\040}" '$2 == p { print $4 }' /proc/mounts; }
lists_as_stat() {
  python3 - "$1" <<'P'
import os, sys
d = sys.argv[1]
bad = [e.name for e in os.scandir(d) if e.inode() != os.lstat(e.path).st_ino]
sys.exit("wrong: %s" % bad[:5] if bad else 0)
P
}

must "a mount with words of fstab" helper nodiratime,nosuid,_netdev,nofail,user=joe,comment=x,x-systemd.automount,lazytime,defaults
like "$(options)" '^rw,.*nosuid' "nosuid acts"
like "$(options)" 'nodiratime' "nodiratime acts"
like "$(options)" 'lazytime' "lazytime is taken"
touch "$M/f"
nok "a second mount on a mount point with a blank is refused" helper ro
ok "remount read-only" helper remount,ro,attribute-timeout=3
like "$(options)" '^ro,' "the kernel knows it"
nok "nothing can be written" touch "$M/g"
ok "remount read-write with noatime" helper remount,rw,noatime,user_id=0
like "$(options)" '^rw,noatime' "the kernel knows that"
ok "it can be written again" touch "$M/g"

mkdir "$M/many" && (cd "$M/many" && seq 800 | xargs touch)
echo 2 >/proc/sys/vm/drop_caches
ok "every inode number of a listing is that of stat" lists_as_stat "$M/many"
groups=$(seq -s, 70001 70300)
for g in 70001 70085 70092 70300; do
  mkdir "$M/of-$g" && chgrp "$g" "$M/of-$g" && chmod 770 "$M/of-$g"
  ok "a user with 300 groups writes as one of $g" setpriv --reuid 71000 --regid 71000 --groups "$groups" touch "$M/of-$g/f"
done
mkdir "$M/of-another" && chgrp 70301 "$M/of-another" && chmod 770 "$M/of-another"
nok "but not as one of another" setpriv --reuid 71000 --regid 71000 --groups "$groups" touch "$M/of-another/f"
# handles save|open FILE...: keeps their handles in $WORK/handles, or opens each by its handle on the mount and reads it.
handles() {
  python3 - "$M" "$WORK/handles" "$@" <<'P'
import ctypes, os, pickle, sys
mount, store, what, *files = sys.argv[1:]
libc = ctypes.CDLL(None, use_errno=True)
def check(r):
    if r < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return r
if what == "save":
    kept = {}
    for f in files:
        h = ctypes.create_string_buffer(136)
        h[0] = 128
        check(libc.name_to_handle_at(-100, f.encode(), h, ctypes.byref(ctypes.c_int()), 0))
        kept[f] = h.raw
    pickle.dump(kept, open(store, "wb"))
else:
    root = os.open(mount, os.O_RDONLY)
    for f, raw in pickle.load(open(store, "rb")).items():
        fd = check(libc.open_by_handle_at(root, ctypes.create_string_buffer(raw), os.O_RDONLY))
        print(os.path.basename(f), *os.listdir(fd) if os.path.isdir("/proc/self/fd/%d" % fd) else os.read(fd, 100).decode().split())
P
}
mkdir -p "$M/h/deep" && echo one >"$M/h/one" && echo two >"$M/h/deep/two"
ok "file handles are given" handles save "$M/h/one" "$M/h/deep/two" "$M/h/deep"
echo 3 >/proc/sys/vm/drop_caches
is "$(handles open 2>&1 | tr '\n' ' ')" "one one two two deep two " "they lead to their files when the kernel has forgotten them"
umount "$M" && helper defaults
is "$(handles open 2>&1 | tr '\n' ' ')" "one one two two deep two " "and on another mount of the volume"
rm "$M/h/one"
echo 3 >/proc/sys/vm/drop_caches
like "$(handles open 2>&1)" 'Stale file handle' "the handle of what is removed is stale"

mount_volume v "$WORK/wb" --kernel-writeback-cache=yes -p "$WORK/wb.pid"
head -c 16M /dev/urandom >"$WORK/data"
python3 - "$WORK/data" "$WORK/wb/dirty" "$(cat "$WORK/wb.pid")" <<'P'
import os, signal, sys, time
data = open(sys.argv[1], "rb").read()
fd = os.open(sys.argv[2], os.O_RDWR | os.O_CREAT)
os.write(fd, data)
os.kill(int(sys.argv[3]), signal.SIGTERM)
end = time.time() + 60
while os.path.exists("/proc/" + sys.argv[3]) and time.time() < end:
    time.sleep(0.1)
P
for b in 1 2 3; do
  ok "a mount that is ended leaves nothing unwritten of a file that is open, brick $b" cmp "$WORK/data" "$WORK/bricks/v-$b/dirty"
done
# A machine that boots before the servers: the mount goes on in the background and is there when one answers.
umount "$M"
stop_glusterishd
nok "no daemon, no mount" helper defaults
ok "with bg the command returns" helper bg,backup-volfile-servers=no-such-host.invalid
nok "and nothing is mounted yet" mountpoint -q "$M"
like "$(cat "$WORK/mount.log")" 'cannot resolve no-such-host.invalid' "the log says what is wrong"
must "the daemon comes" start_glusterishd
ok "and the mount with it" within 30 mountpoint -q "$M"
ok "it serves" touch "$M/late"
done_testing
