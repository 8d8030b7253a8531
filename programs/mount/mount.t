#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The command line that mount.glusterish builds, option by option.
set -u
helper=${GLUSTERISH_BUILDDIR:?}/programs/mount/mount.glusterish
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export MOUNT_GLUSTERISH_DRY_RUN=1 GLUSTERISHFS=/sbin/glusterishfs GLUSTERISH_STATE_DIR="$work/state"
mkdir -p "$work/mnt" "$work/state/vols/v/bricks" "$work/brick/b1"
printf 'hostname=h\npath=%s\n' "$work/brick/b1" >"$work/state/vols/v/bricks/h:-brick-b1"
n=0

# result NAME STATUS: 0 is ok.
result() {
  n=$((n + 1))
  if [ "$2" -eq 0 ]; then echo "ok $n - $1"; else echo "not ok $n - $1"; fi
}

run() { out=$("$helper" "$@" 2>"$work/err"); rc=$?; }

# has ARGUMENT...: every one is a whole line of the output.
has() {
  local a
  for a in "$@"; do
    printf '%s\n' "$out" | grep -qxF -- "$a" || { echo "# missing: $a"; printf '%s\n' "$out" | sed 's/^/#   /'; return 1; }
  done
}

hasnt() { ! printf '%s\n' "$out" | grep -qE -- "$1"; }

# opt OPTIONS ARGUMENT...: mounting with OPTIONS gives the arguments.
opt() {
  local o=$1
  shift
  run h:/v "$work/mnt" -o "$o"
  [ "$rc" -eq 0 ] && has "$@"
  result "-o $o" $?
}

# refused STATUS TEXT ARGUMENT...: fails with both.
refused() {
  local status=$1 text=$2
  shift 2
  run "$@"
  [ "$rc" -eq "$status" ] && grep -qF -- "$text" "$work/err"
  result "refused: $text" $?
}

run h1:/v "$work/mnt"
has /sbin/glusterishfs --volfile-server=h1 --volfile-id=/v --process-name=fuse --log-level=INFO "$work/mnt" &&
  hasnt 'subdir|read-only|mountopts'
result "plain" $?
run h1,h2,h3:v/a/b/ "$work/mnt"
has --volfile-server=h1 --volfile-server=h2 --volfile-server=h3 --volfile-id=v --subdir-mount=/a/b
result "several servers and a subdirectory" $?
run '[::1]:/v' "$work/mnt"
has --volfile-server=::1 --volfile-id=/v
result "address in brackets" $?
run h:/snaps/s1/v "$work/mnt"
has --volfile-id=/snaps/s1/v --read-only && hasnt subdir
result "snapshot" $?
echo 'volume x' >"$work/x.vol"
run "$work/x.vol" "$work/mnt"
has "--volfile=$work/x.vol" && hasnt volfile-server
result "local volfile" $?
run h:/v "$work/mnt" -n -s -o rw -o _netdev,noauto,x-systemd.automount,x-systemd.idle-timeout=60,defaults
hasnt 'netdev|systemd|noauto' && [ "$rc" -eq 0 ]
result "general options are ignored" $?

opt backup-volfile-servers=h2:h3 --volfile-server=h --volfile-server=h2 --volfile-server=h3
opt 'backup-volfile-servers=[fe80::1]:h3' --volfile-server=fe80::1 --volfile-server=h3
opt backupvolfile-server=h9 --volfile-server=h9
opt log-level=DEBUG,log-file=/x/y.log --log-level=DEBUG --log-file=/x/y.log
opt log-level=NOISY --log-level=INFO
opt transport=tcp --volfile-server-transport=tcp --volfile-id=/v.tcp
opt server-port=1234 --volfile-server-port=1234
opt volume-name=x,volume-id=y --volume-name=x --volfile-id=y
opt subdir-mount=/d --subdir-mount=/d
opt client-key=/k --client-key=/k
opt process-name=me --process-name=fuse.me
opt observe=127.0.0.1:9325 --observe=127.0.0.1:9325
opt fetch-attempts=3 --volfile-max-fetch-attempts=3
opt retry=2,retry=3s,retry=1m,retry=2h --volfile-server=h
hasnt retry
result "retrying is the helper's" $?
opt volfile-max-fetch-attempts=4 --volfile-max-fetch-attempts=4
opt attribute-timeout=0.5,entry-timeout=2,negative-timeout=3,gid-timeout=4 --attribute-timeout=0.5 --entry-timeout=2 \
  --negative-timeout=3 --gid-timeout=4
opt direct-io-mode=enable --direct-io-mode=enable
opt background-qlen=64,congestion-threshold=48,lru-limit=0 --background-qlen=64 --congestion-threshold=48 --lru-limit=0
opt kernel-writeback-cache=yes,use-readdirp=no --kernel-writeback-cache=yes --use-readdirp=no
opt meta=off --meta=off
opt auto-invalidation=off,attr-times-granularity=1000 --auto-invalidation=off --attr-times-granularity=1000
opt fopen-keep-cache --fopen-keep-cache=true
opt fopen-keep-cache=no --fopen-keep-cache=no
opt root-squash=no --no-root-squash
opt no-root-squash=yes --no-root-squash
opt 'xlator-option=*-md-cache.timeout=5' '--xlator-option=*-md-cache.timeout=5'
opt halo-max-latency=10 '--xlator-option=*replicate*.halo-max-latency=10'
opt partial-listing=allow '--xlator-option=*-dht.partial-listing=allow'
opt noatime,nosuid,nodev '--fuse-mountopts=noatime,nosuid,nodev'
opt 'context="system_u:object_r:x_t:s0:c1,c2",noatime' '--fuse-mountopts=context="system_u:object_r:x_t:s0:c1,c2",noatime'
opt sync,noexec '--fuse-mountopts=sync,noexec'
opt ro,rw,noatime --fuse-mountopts=noatime
hasnt read-only
result "the last of ro and rw counts" $?
opt ro,acl,selinux,enable-ino32,resolve-gids --read-only --acl --selinux --enable-ino32 --resolve-gids
opt "log-file=/x/it's here.log" "--log-file=/x/it's here.log"
run h:/v "$work/mnt" -o root-squash=yes,no-root-squash=off
hasnt root-squash && [ "$rc" -eq 0 ]
result "root squash stays" $?
words=atime,diratime,relatime,nostrictatime,nolazytime,auto,noauto,_netdev,nofail,defaults,user,nouser,users,owner,group,comment
run h:/v "$work/mnt" -o "$words,user=joe,comment=x y,X-mount.mkdir,uhelper=x,silent,auto_unmount,lazyatime"
[ "$rc" -eq 0 ] && [ ! -s "$work/err" ] && ! printf '%s\n' "$out" | grep -qE 'mountopts|remount|joe|comment'
result "words of fstab and mount(8) that ask nothing of us" $?
opt nodiratime,lazytime,nosuid --fuse-mountopts=nosuid mount -i remount,rw,nosuid,nodiratime,lazytime h:/v "$work/mnt"
mkdir "$work/my mnt"
run h:/v "$work/my mnt"
has "$work/my mnt"
result "mount point with a blank" $?

# mounted POINT: /proc/mounts as the kernel writes it.
mounted() { printf 'h:/v %s fuse.glusterish rw,relatime 0 0\n' "$1" >"$work/mounts"; }
export MOUNT_GLUSTERISH_MOUNTS=$work/mounts
mounted "$work/mnt"
run h:/v "$work/mnt" -o remount,ro,nosuid,relatime,attribute-timeout=5,user_id=0,group_id=0,default_permissions,allow_other
[ "$rc" -eq 0 ] && has mount -i fuse.glusterish remount,ro,nosuid,relatime h:/v "$work/mnt" && hasnt sbin
result "a remount is the kernel's" $?
run h:/v "$work/mnt" -o rw,remount
has remount,rw
result "remount read-write" $?
refused 1 'Invalid option nonsense' h:/v "$work/mnt" -o remount,nonsense
refused 32 'already mounted' h:/v "$work/mnt"
mkdir "$work/a  b\\040" && mounted "$work/a\\040\\040b\\134040"
refused 32 'already mounted' h:/v "$work/a  b\\040"
mounted "$work/my\\040mnt"
refused 32 'already mounted' h:/v "$work/my mnt"
refused 32 'is not mounted' h:/v "$work/mnt" -o remount,ro
refused 1 "'dirsync' is not available" h:/v "$work/mnt" -o dirsync
refused 1 'Invalid option: user_id' h:/v "$work/mnt" -o user_id=0

refused 1 'Invalid option nonsense' h:/v "$work/mnt" -o nonsense
refused 1 'retry=soon: it is a number' h:/v "$work/mnt" -o retry=soon
refused 1 'retry=s: it is a number' h:/v "$work/mnt" -o retry=s
refused 1 'Invalid option: nonsense' h:/v "$work/mnt" -o nonsense=1
refused 1 'Mount point does not exist' h:/v "$work/none"
refused 1 'unspecified cannot proceed' novolume "$work/mnt"
refused 1 'unspecified cannot proceed' h: "$work/mnt"
refused 1 'unspecified cannot proceed' :/v "$work/mnt"
refused 2 'Cannot mount over root' h:/v /
refused 2 'Cannot mount over /tmp' h:/v /tmp
refused 2 'is in use as a brick' h:/v "$work/brick"
refused 2 'is in use as a brick' h:/v "$work/brick/b1"
refused 1 Usage h:/v

unset MOUNT_GLUSTERISH_DRY_RUN
GLUSTERISHFS=/bin/false
refused 1 "Mounting glusterish on $work/mnt failed." h:/v "$work/mnt"

# A program that fails TIMES with the words WHY, counts its attempts and then succeeds.
cat >"$work/fs" <<'FS'
#!/bin/sh
echo x >>"${0%/fs}/attempts"
[ "$(wc -l <"${0%/fs}/attempts")" -gt "$TIMES" ] && exit 0
echo "$WHY" >&2
exit 1
FS
chmod +x "$work/fs"
export GLUSTERISHFS="$work/fs" TIMES WHY
# tries NAME STATUS ATTEMPTS OPTIONS
tries() {
  rm -f "$work/attempts"
  run h:/v "$work/mnt" -o "$4"
  [ "$rc" -eq "$2" ] && [ "$(wc -l <"$work/attempts")" -eq "$3" ]
  result "$1" $?
}
TIMES=1 WHY='glusterishfs: cannot fetch volfile /v: no management daemon could be reached'
tries "without a word one attempt is made" 1 1 rw
tries "with retry another one" 0 2 retry=30s
tries "and at boot" 0 2 _netdev
tries "but not if told otherwise" 1 1 _netdev,retry=0
WHY='glusterishfs: mount of /mnt failed: Transport endpoint is not connected'
tries "while no brick is there, too" 0 2 retry=1
TIMES=9
tries "until the time is over" 1 1 retry=0s
WHY='glusterishfs: cannot fetch volfile /v: No such file or directory'
tries "what is wrong is not tried again" 1 1 retry=30s
TIMES=2 WHY='glusterishfs: cannot fetch volfile /v: no management daemon could be reached'
rm -f "$work/attempts"
run h:/v "$work/mnt" -o bg
[ "$rc" -eq 0 ] && grep -q 'goes on in the background' "$work/err"
result "in the background it goes on" $?
for _ in $(seq 100); do
  [ "$(wc -l <"$work/attempts")" -ge 3 ] && break
  sleep 0.1
done
[ "$(wc -l <"$work/attempts")" -eq 3 ]
result "until it works" $?
echo "1..$n"
