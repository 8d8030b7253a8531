#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What operations on a mount cost in messages and in requests of the kernel. The ceilings are what they cost now, and a fifth: a change
# that needs more has a reason, and lowers them where it needs less.
. "$(dirname "$0")/lib.sh"
require_root
require_fuse
command -v jq >/dev/null && command -v python3 >/dev/null || skip_all "needs jq and python3"
wait_for() { within "$@"; }
. "$(dirname "$0")/../bench/counts.sh"
COUNTS_CALLS=no

start_glusterishd >/dev/null
must "a volume is there" start_volume counts 3
export GLUSTERISH_STATEDUMP_DIR=$WORK/dumps
mkdir -p "$WORK/dumps"
# What the kernel knows does not end meanwhile, and is not for a second only: how long all this takes should not matter.
must "its bricks tell" gi volume set counts features.cache-invalidation on
must "for as long as all this takes" gi volume set counts features.cache-invalidation-timeout 600
must "and sessions of writers do not end while a disk is slow" gi volume set counts cluster.post-op-delay-secs 60
must "it is mounted" mount_volume counts "$WORK/m" --attribute-timeout=600 --entry-timeout=600
client=$(pgrep -f "glusterishfs.*$WORK/m\$" | head -n 1)
bricks="$(brick_pid counts "$WORK/bricks/counts-1") $(brick_pid counts "$WORK/bricks/counts-2") $(brick_pid counts "$WORK/bricks/counts-3")"
cd "$WORK/m" || exit 1

# costs NAME OPERATIONS MESSAGES REQUESTS COMMAND: it needs at most that many messages to a brick and requests of the kernel per operation.
# One that can be made again, under a name with $try, is: what a disk that others keep busy adds is not the same each time.
costs() {
  local counts try
  for try in 1 2 3; do
    counts_begin "$WORK/m" "$client" "$bricks" "$WORK/dumps"
    eval "$5"
    counts=$(counts_end "$2") || counts='{}'
    note "$1: $counts"
    last=$counts
    if jq -e ".messages and .messages <= $3 and .fuse_requests <= $4 and .copied_share <= 0.05" <<<"$counts" >/dev/null; then
      pass "$1: at most $3 messages to a brick and $4 requests of the kernel"
      return
    fi
    [[ $5 == *'$try'* ]] || break
  done
  fail "$1: at most $3 messages to a brick and $4 requests of the kernel" "$counts"
}

costs "a buffered write" 200 1.25 1.25 'dd if=/dev/zero of=file bs=4k count=200 status=none'
if [ "$(jq .fuse <<<"$last")" != null ]; then
  ok "no attribute is asked for at each write" jq -e '(.fuse.GETXATTR // 0) + (.fuse.GETATTR // 0) <= 0.1' <<<"$last"
fi
costs "a synchronous write" 100 2.5 2.5 'dd if=/dev/zero of=synced bs=8k count=100 oflag=dsync status=none'
log() { # FSYNC: writes and syncs as a database does its log, in one message
  python3 - "$1" <<'PY'
import os, sys
log = os.open("log", os.O_WRONLY | os.O_CREAT)
for i in range(100):
    os.pwrite(log, bytes(8192), i * 8192)
    getattr(os, sys.argv[1])(log)
PY
}
costs "a write and its fdatasync" 100 1.5 2.5 'log fdatasync'
costs "a write and its fsync" 100 1.5 2.5 'log fsync'
costs "a write of 1 MiB" 32 1.4 1.5 'dd if=/dev/zero of=large$try bs=1M count=32 conv=fsync status=none'
echo 3 >/proc/sys/vm/drop_caches
costs "a cold read of 128 KiB" 6 1.2 1.75 'cat file >/dev/null'
costs "a new file" 40 2.5 7.2 'for ((i = 0; i < 40; i++)); do : >new$i; done'
costs "its attributes, a moment later" 40 0.2 0.2 'stat new{0..39} >/dev/null'
costs "a new small file" 40 3.5 9 'for ((i = 0; i < 40; i++)); do echo text >text$try-$i; done'
costs "the same with another content" 40 3.5 9 'for ((i = 0; i < 40; i++)); do echo other >text1-$i; done # $try'
mkdir "$WORK/tree" && for ((i = 0; i < 40; i++)); do echo text >"$WORK/tree/$i"; done
touch -d 2001-02-03 "$WORK"/tree/*
tar -C "$WORK" -cf "$WORK/tree.tar" tree
costs "a file that tar unpacks" 40 3.8 15 'mkdir at$try && tar -C at$try -xpf "$WORK/tree.tar"'
is "$(tar -C at1 -df "$WORK/tree.tar" 2>&1)" "" "with its times, owner and mode"
costs "a rename" 40 2.2 3.6 'for ((i = 0; i < 40; i++)); do mv -T new$i old$i; done'
costs "a removal" 40 1.5 4.8 'rm old{0..39}'
mkdir small
for ((i = 0; i < 40; i++)); do echo $i >small/$i; done
sync -f small
echo 3 >/proc/sys/vm/drop_caches
costs "a cold small file" 40 1.3 6 'cat small/{0..39} >/dev/null'

# How often the brick calls its file system for it. Only such calls are counted: how often it waits, and is woken up, hangs on how fast it
# all goes. Times that are written behind, of many changes together, are within the ceilings. What a worker does, while the disk lets
# calls wait, knows nothing and looks again; others look again meanwhile: some four calls, which are taken off.
file_calls='openat close newfstatat linkat unlinkat renameat mkdirat symlinkat readlinkat fchmodat2 ftruncate pwritev fsync fdatasync
  preadv2 fgetxattr fsetxattr flistxattr fremovexattr getxattrat setxattrat listxattrat removexattrat'
brick=${bricks%% *}

# Operations that the brick has given to a worker, but for those that always go there.
handed_over() {
  rm -f "$WORK"/d/run/*."$brick".dump.*
  kill -USR1 "$brick" && within 10 brick_has_dumped || return 1
  awk -F= '$1 == "runs_pool" {all = $2} $1 == "fsync_calls" {always = $2} END {print all - always}' "$WORK"/d/run/*."$brick".dump.*
}
brick_has_dumped() { grep -qs '^DUMP-END-TIME' "$WORK"/d/run/*."$brick".dump.*; }

# calls NAME OPERATIONS CALLS COMMAND [BEFORE]
calls() {
  local perf counted handed try events=''
  for try in $file_calls; do
    perf stat -e "syscalls:sys_enter_$try" true >/dev/null 2>&1 && events+=",syscalls:sys_enter_$try"
  done
  for try in 1 2 3; do
    eval "${5:-}"
    handed=$(handed_over)
    perf stat -x, -e "${events#,}" -p "$brick" -o "$WORK/perf" >/dev/null 2>&1 &
    perf=$!
    sleep 0.5
    eval "$4"
    sleep 1
    kill -INT "$perf" && wait "$perf"
    counted=$(awk -F, -v n="$2" '$1 + 0 == $1 {sum += $1; if ($1 >= n / 2) {sub(/.*sys_enter_/, "", $3); which = which " " $3 " " $1 / n}}
      END {printf "%.2f%s", sum / n, which}' "$WORK/perf")
    handed=$(($(handed_over) - handed))
    note "$1: $counted, handed over $handed"
    if awk -v c="${counted%% *}" -v max="$3" -v off="$((4 * handed))" -v n="$2" 'BEGIN {exit !(c > 0 && c - off / n <= max)}'; then
      pass "$1: at most $3 calls of the brick on its files"
      return
    fi
    [[ $4 == *'$try'* ]] || break
  done
  fail "$1: at most $3 calls of the brick on its files" "$counted"
}

if perf stat -e syscalls:sys_enter_openat true >/dev/null 2>&1; then
  calls "a new small file" 40 18 'for ((i = 0; i < 40; i++)); do echo text >small$try-$i; done'
  like "$(awk -F, '/sys_enter_mkdirat/ {n += $1} END {print n + 0}' "$WORK/perf")" '^[0-4]$' "which share a directory of handles"
  calls "the same with another content" 40 15.5 'for ((i = 0; i < 40; i++)); do echo text >small1-$i; done # $try'
  calls "another mode" 40 4.5 'chmod 60$try small1-{0..39}'
  calls "a new directory" 40 12 'for ((i = 0; i < 40; i++)); do mkdir d$try-$i; done'
  calls "its removal" 40 8 'rmdir e$try-{0..39}' 'mkdir e$try-{0..39}'
  calls "a name that moves, where there is none" 40 11 'for ((i = 0; i < 40; i++)); do mv -T small1-$i moved$i; done'
  calls "a name that goes" 40 6 'rm moved{0..39}'
  remount() { cd / && umount "$WORK/m" && mount_volume counts "$WORK/m" && cd "$WORK/m" || exit 1; }
  calls "a small file that the mount has not read" 40 5.5 'cat small/{0..39} >/dev/null # $try' remount
fi

# The kernel pushes its times before each fsync: they go with the write.
cd / && umount "$WORK/m"
must "it is mounted with kernel write-back" mount_volume counts "$WORK/m" --kernel-writeback-cache=yes
client=$(pgrep -f "glusterishfs.*$WORK/m\$" | head -n 1)
cd "$WORK/m" || exit 1
costs "a write and its fsync, with kernel write-back" 100 1.5 3.5 'log fsync'
cd / || exit 1
done_testing
