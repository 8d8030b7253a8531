#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Bricks of different sizes: shares of the hash range, where new files go when one is nearly full, what a rebalance and a removal of a brick
# make of that, and layouts that a user has written.
. "$(dirname "$0")/lib.sh"
require_root
require_fuse
start_glusterishd >/dev/null
SIZES=(40 120 20) # MiB
disks_gone() { for n in 1 2 3; do umount -l "$WORK/disk$n" 2>/dev/null; done; }
end_all() {
  local pids
  for dir in "${MOUNTS[@]}"; do unmount "$dir"; done
  stop_glusterishd
  mapfile -t pids < <(own_pids "$WORK"/d/run/vols/*/*.pid "$WORK"/d/vols/*/rebalance/*.pid)
  end_processes "${pids[@]}"
  disks_gone
}
trap 'end_all; cleanup' EXIT
for n in 1 2 3; do
  mkdir "$WORK/disk$n"
  mount -t tmpfs -o "size=${SIZES[n - 1]}m" tmpfs "$WORK/disk$n" && mkdir "$WORK/disk$n/b" || skip_all "needs tmpfs"
  setfattr -n trusted.test -v 1 "$WORK/disk$n/b" 2>/dev/null || skip_all "needs trusted attributes on tmpfs"
done
M=$WORK/mnt
layout() { for n in 1 2 3; do getfattr -h --absolute-names --only-values -n trusted.glusterfs.dht "$WORK/disk$n/b/$1" | od -An -tu4 --endian=big; done; }
share() { layout "$1" | awk '{printf "%d ", ($4 - $3) * 100 / 4294967296 + 0.5}'; }
data() { for n in 1 2 3; do printf '%s ' "$(find "$WORK/disk$n/b/$1" -type f ! -perm 1000 | wc -l)"; done; }
linkto_files() { find "$WORK/disk$2/b/$1" -type f -perm 1000 | wc -l; }
fill() { head -c "$(($(stat -f -c '%a * %S' "$WORK/disk$1") - 3000000))" /dev/zero >"$WORK/disk$1/fill"; }
known() { sleep 5.2 && touch "$M/seen" && sleep 0.3 && rm "$M/seen"; } # how long what is known of room is good enough
over() { gi volume "$@" status | awk 'NR == 3 {print $7}' | grep -qx completed; }

must "a volume is made" gi volume create v "$HOST:$WORK"/disk{1,2,3}/b force
must "it starts" gi volume start v
must "it is mounted" mount_volume v "$M"
mkdir -p "$M/d/sub"
is "$(df --output=size,avail "$M" "$M/d" "$M/d/sub" | sort -u | wc -l)" 2 "a directory has the room of the volume"
is "$(df --output=size -BM "$M" | tail -n 1 | tr -d ' ')" 180M "which is that of all bricks"
is "$(share d)" "22 67 11 " "larger bricks have larger shares"
for i in $(seq 40); do head -c 20000 /dev/zero >"$M/d/f$i"; done
fill 1
known
for i in $(seq 40); do head -c 20000 /dev/zero >"$M/d/sub/g$i"; done
like "$(data d/sub)" '^0 ' "no new file goes to a brick that is nearly full"
like "$(linkto_files d/sub 1)" '^[1-9]' "where its name belongs it is led to"
ok "and it is found" eval 'cat "$M"/d/sub/g* >/dev/null'

gi volume set v cluster.rebalance-stats on >/dev/null
ok "a rebalance begins" gi volume rebalance v start
ok "it is completed" within 60 over rebalance v
like "$(data d/sub)" '^0 ' "nothing is moved to a brick that is nearly full"
like "$(gi volume rebalance v status | awk 'NR == 3 {print $6}')" '^[1-9]' "that is counted as skipped"
ok "with force it is moved there" eval 'gi volume rebalance v start force && within 60 over rebalance v'
like "$(data d/sub)" '^[1-9]' "where it has a home"
like "$(cat "$WORK/d/log/v-rebalance.log")" 'g[0-9]+ took [0-9.]+ s' "how long each file took is in the log"

sums() { (cd "$M" && find . -type f -print0 | sort -z | xargs -0 md5sum | md5sum); }
was=$(sums)
first=$(data .)
ok "the largest brick is to leave" gi volume remove-brick v "$HOST:$WORK/disk2/b" start
ok "it is emptied" within 60 over remove-brick v "$HOST:$WORK/disk2/b"
is "$(data . | awk '{print $2}')" 0 "nothing is left on it"
is "$(data . | awk '{print $1}')" "$(awk '{print $1}' <<<"$first")" "and the full one got nothing of it"
is "$(sums)" "$was" "all is as it was"
ok "it need not leave" gi volume remove-brick v "$HOST:$WORK/disk2/b" stop

# ---- layouts ----
rm -f "$WORK/disk1/fill"
gi volume set v cluster.weighted-rebalance off >/dev/null
shares_are() { rmdir "$M/$1" 2>/dev/null || true && mkdir "$M/$1" && [ "$(share "$1" | tr ' ' '\n' | grep . | sort -n | tr '\n' ' ')" = "$2" ]; }
ok "shares are equal where that is asked for" within 10 shares_are even "33 33 33 "
gi volume set v cluster.subvols-per-directory 2 >/dev/null
ok "or on some bricks only" within 10 shares_are two "0 50 50 "
by_hand() { setfattr -n trusted.glusterfs.dht -v "0x0000000000000001$2" "$WORK/disk$1/b/even"; }
by_hand 1 000000007fffffff && by_hand 2 80000000ffffffff && by_hand 3 0000000000000000
mine=$(layout even)
unmount "$M"
ok "it is mounted again" mount_volume v "$M"
for i in $(seq 20); do touch "$M/even/u$i"; done
like "$(data even)" '^[1-9][0-9]* [1-9][0-9]* 0 $' "a layout that a user has written counts"
ok "and stays in a rebalance" eval 'gi volume rebalance v start && within 60 over rebalance v'
is "$(layout even)" "$mine" "as it was written"
done_testing
