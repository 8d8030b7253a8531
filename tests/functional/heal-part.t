#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A large file of which a little was written while a brick was away is healed by sending that little, also if the bricks that
# remember it were restarted in between; when nobody can know what is missing, all of it is compared. The copies are the same each time.
. "$(dirname "$0")/heal.sh"
require_root
require_fuse
command -v python3 >/dev/null || skip_all "python3 is not installed"
start_glusterishd
must "a volume starts" start_heal_volume
ok "its self-heal daemon runs" within 20 shd_runs

SIZE=$((256 << 20))
F=$M/database

# rewrite PAGES SEED: random pages of 4 KiB anywhere in the file; synced at the end.
rewrite() {
  python3 - "$F" "$1" "$2" "$SIZE" <<'PY'
import os, random, sys
r = random.Random(int(sys.argv[3]))
fd = os.open(sys.argv[1], os.O_WRONLY)
for i in range(int(sys.argv[2])):
    os.pwrite(fd, r.randbytes(4096), r.randrange(int(sys.argv[4]) // 4096) * 4096)
os.fsync(fd)
PY
}

# counter NAME: of the self-heal daemon, from a fresh state dump.
counter() {
  local pid dump
  pid=$(shd_pid)
  rm -f "$WORK"/d/run/glusterdump."$pid".dump.*
  kill -USR1 "$pid"
  within 10 dumped "$pid" || return 1
  dump=$(compgen -G "$WORK/d/run/glusterdump.$pid.dump.*" | head -n 1)
  sed -n "s/^heal_$1=//p" "$dump" | head -n 1
}
dumped() { grep -q '^heal_bytes_skipped=' "$WORK"/d/run/glusterdump."$1".dump.* && grep -q 'DUMP-END' "$WORK"/d/run/glusterdump."$1".dump.*; }

# moved: payload the daemon read, wrote, or had checksummed.
moved() { echo $(($(counter bytes_read) + $(counter bytes_written) + $(counter bytes_compared))); }

same_file() { cmp "$B/h-1/database" "$B/h-2/database" && cmp "$B/h-1/database" "$B/h-3/database"; }

# heals_by BYTES WHAT: heals, and moves less than so many bytes.
heals_by() {
  local bytes
  heals 60 "$2: healed"
  ok "$2: identical" same_file
  bytes=$(($(moved) - BEFORE))
  note "$bytes bytes were moved or compared"
  is "$([ "$bytes" -lt "$1" ] && echo less)" less "$2: less than $1 bytes"
  BEFORE=$((BEFORE + bytes))
}

# heals_whole WHAT: heals by looking at all of it.
heals_whole() {
  local bytes
  heals 60 "$1: healed"
  ok "$1: identical" same_file
  bytes=$(($(moved) - BEFORE))
  is "$([ "$bytes" -ge "$SIZE" ] && echo all)" all "$1: all of it was looked at"
  BEFORE=$((BEFORE + bytes))
}

logs() { find "$B/h-$1/.glusterfs/glusterish-regions" -type f 2>/dev/null | wc -l; }

head -c "$SIZE" /dev/urandom >"$F"
ok "the copies are equal at first" within 20 all_healed
BEFORE=$(moved)

ok "a brick is killed" kill_brick 3
rewrite 655 1
is "$([ "$(logs 1)" -gt 0 ] && echo yes)" yes "the others remember what it lacks"
ok "it comes back" brick_back
heals_by $((SIZE * 3 / 100)) "one page in a hundred"
is "$([ "$(counter bytes_near)" -gt 0 ] && echo yes)" yes "bricks of one machine copied it by themselves"
is "$(logs 1) $(logs 2)" "0 0" "then they forget it"

# ---- written to while it is healed ----
ok "a brick is killed for a while" kill_brick 1
rewrite 655 10
rewrite 4000 11 &
writer=$!
ok "it comes back under load" brick_back
wait $writer
ok "the application has seen nothing of it" test $? = 0
heals 60 "written to while healed: healed"
ok "written to while healed: identical" same_file
BEFORE=$(moved)

# ---- killed while it is written to, and those that remember are restarted ----
gi volume set h cluster.self-heal-daemon off >/dev/null
rewrite 2000 2 &
writer=$!
ok "a brick is killed under load" kill_brick 2
wait $writer
ok "the writer has seen nothing" test $? = 0
for n in 1 3; do
  ok "brick $n is stopped" end_brick "$n"
done
gi volume start h force >/dev/null
ok "the volume is in use" within 30 sh -c "echo again >'$M/probe' && grep -q again '$B/h-1/probe' '$B/h-2/probe'"
gi volume set h cluster.self-heal-daemon on >/dev/null
ok "the self-heal daemon runs again" within 20 shd_runs
BEFORE=0
heals_by $((SIZE / 8)) "after a restart"

# ---- somebody adds to the counters without telling ----
ok "a brick is killed once more" kill_brick 1
rewrite 20 5
gi volume set h cluster.ensure-durability off >/dev/null
rewrite 20 6
gi volume set h cluster.ensure-durability on >/dev/null
rewrite 20 7
ok "the brick comes back again" brick_back
heals_whole "not told of everything"

# ---- a client died: nobody knows what it wrote ----
ok "a brick is killed again" kill_brick 1
rewrite 50 3
is_dirty() { getfattr --absolute-names -n trusted.afr.dirty -e hex "$B/h-2/database" 2>/dev/null | grep '^trusted' | grep -qv '=0x0*$'; }
not_dirty() { ! is_dirty; }
ok "its writer is done" within 20 not_dirty
rewrite 100000 4 &
writer=$!
mount=$(pgrep -f -- "--volfile-id h .*$M\$" | head -n 1)
ok "the client writes" within 20 is_dirty
ok "and is killed" kill -9 "$mount"
wait $writer
umount -l "$M"
ok "the brick comes back" brick_back
must "the volume is mounted again" mount_volume h "$WORK/mnt2" --entry-timeout=0 --attribute-timeout=0
M=$WORK/mnt2 F=$WORK/mnt2/database
heals_whole "after a client died"
done_testing
