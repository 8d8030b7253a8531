#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The self-heal daemon heals file contents, attributes and extended attributes that a brick missed, by itself: when the brick
# comes back, while applications write, and when it was killed in the middle.
. "$(dirname "$0")/heal.sh"
require_root
require_fuse
start_glusterishd
must "a volume starts" start_heal_volume
ok "its self-heal daemon runs" within 20 shd_runs

# ---- every kind of change to files that exist everywhere ----
head -c 5000000 /dev/urandom >"$M/over"
head -c 300000 /dev/urandom >"$M/cut"
head -c 3000 /dev/urandom >"$M/grown"
truncate -s 20000000 "$M/sparse"
printf start | dd of="$M/sparse" conv=notrunc status=none
printf unchanged >"$M/same"
: >"$M/was-empty"
for i in $(seq 50); do echo "small $i" >"$M/small-$i"; done
printf x >"$M/attributes"
setfattr -n user.old -v goes "$M/attributes"
mkdir "$M/dir"
ok "the copies are equal at first" within 20 all_healed

ok "a brick is killed" kill_brick 3
dd if=/dev/urandom of="$M/over" bs=4096 seek=300 count=3 conv=notrunc status=none
truncate -s 1234 "$M/cut"
head -c 3000000 /dev/urandom >>"$M/grown"
printf end | dd of="$M/sparse" bs=1 seek=19000000 conv=notrunc status=none
head -c 200000 /dev/urandom >"$M/was-empty"
for i in $(seq 50); do echo "other $i" >"$M/small-$i"; done
chmod 4711 "$M/attributes"
chown 12:34 "$M/attributes"
setfattr -x user.old "$M/attributes"
setfattr -n user.new -v comes "$M/attributes"
touch -d '2001-02-03 04:05:06.789' "$M/attributes"
chmod 2770 "$M/dir"
setfattr -n user.on-dir -v yes "$M/dir"
nok "now they differ" all_healed
ok "the brick comes back" brick_back
heals 40 "everything is healed"
is "$(($(stat -c %b "$B/h-3/sparse") < 4000))" 1 "holes stay holes"

# ---- while an application writes to the file that is healed ----
head -c 30000000 /dev/urandom >"$M/busy"
for i in $(seq 4); do : >"$M/large-$i"; done
ok "a brick is killed again" kill_brick 1
head -c 30000000 /dev/urandom | dd of="$M/busy" bs=1M conv=notrunc status=none
ok "it comes back" brick_back
for i in $(seq 40); do
  dd if=/dev/urandom of="$M/busy" bs=64K seek=$((RANDOM % 450)) count=2 conv=notrunc status=none || break
done
is "$i" 40 "writing goes on meanwhile"
heals 40 "the file that was written to is healed"

# ---- killed in the middle ----
ok "a brick is killed once more" kill_brick 2
for i in $(seq 4); do head -c 20000000 /dev/urandom >"$M/large-$i"; done
old=$(shd_pid)
ok "it comes back again" brick_back
ok "the self-heal daemon is killed" kill -9 "$old"
heals 60 "another one finishes the work"
is "$([ "$(shd_pid)" != "$old" ] && echo other)" other "indeed another one"

# ---- switched off and on ----
gi volume set h cluster.self-heal-daemon off >/dev/null
ok "a brick is killed while it is off" kill_brick 3
echo changed >"$M/same"
ok "the brick comes back meanwhile" brick_back
ok "the volume is in use" within 20 sh -c "echo again >'$M/small-1' && grep -q again '$B/h-3/small-1'"
nok "nothing is healed" cmp -s "$B/h-1/same" "$B/h-3/same"
gi volume set h cluster.self-heal-daemon on >/dev/null
heals 60 "switched on it heals"
done_testing
