#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Arbiter volumes: the third brick keeps names and marks but no data, tells which data brick is right, and is never read.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/bricks.sh"
require_root
require_fuse
start_glusterishd || exit 1
B=$WORK/bricks
M=$WORK/mnt
mkdir -p "$B"

# ---- creating ----
like "$(gi volume create v replica 4 arbiter 1 "$HOST:$B/1" "$HOST:$B/2" "$HOST:$B/3" "$HOST:$B/4" force 2>&1)" \
  'replica count must be 2 and arbiter count must be 1' "other shapes are refused"
ok "replica 2 arbiter 1 is a set of three" gi volume create two replica 2 arbiter 1 "$HOST:$B/t1" "$HOST:$B/t2" "$HOST:$B/t3" force
like "$(gi volume info two)" '^Number of Bricks: 1 x \(2 \+ 1\) = 3$' "as info tells"
must "so is replica 3 arbiter 1" gi volume create v replica 3 arbiter 1 "$HOST:$B/1" "$HOST:$B/2" "$HOST:$B/3" force
info=$(gi volume info v)
like "$info" '^Type: Replicate$' "its type is Replicate"
like "$info" '^Number of Bricks: 1 x \(2 \+ 1\) = 3$' "info counts two and one"
like "$info" "^Brick3: $HOST:$B/3 \(arbiter\)\$" "and names the arbiter"
is "$(printf '%s\n' "$info" | grep -c '(arbiter)')" 1 "only that"
like "$(gi --xml volume info v)" '<arbiterCount>1</arbiterCount>' "XML counts it"
is "$(gi --xml volume info v | grep -o '<isArbiter>[01]' | tr -dc 01)" 001 "and marks the brick"
gi volume set v cluster.self-heal-daemon off >/dev/null
must "it starts" gi volume start v
must "it mounts" mount_volume v "$M" --entry-timeout=0 --attribute-timeout=0

sizes() { stat -c %s "$B/1/$1" "$B/2/$1" "$B/3/$1" | xargs; }
mark() { getfattr --absolute-names -n "trusted.afr.v-client-$3" -e hex "$B/$1/$2" 2>/dev/null | sed -n 's/.*=//p'; }
sum() { sha256sum <"$1" | cut -c1-16; }
no_marks() { [ -z "$(marks "$B/1")$(marks "$B/2")$(marks "$B/3")" ]; }
# kill_brick N [VOLUME]: and the mount has noticed.
kill_brick() {
  local pid
  pid=$(brick_pid "${2:-v}" "$B/$1")
  kill -9 "$pid"
  within 10 not_running "$pid"
}
# A name made through the mount arrives on brick N: the mount is connected to it (again).
probe=0
reaches() {
  probe=$((probe + 1))
  touch "$M/.probe-$probe" && [ -e "$B/$1/.probe-$probe" ]
}

# ---- data ----
dd if=/dev/urandom of="$WORK/data" bs=64K count=1 status=none
ok "a file is written" cp "$WORK/data" "$M/f"
is "$(sizes f)" "65536 65536 0" "the arbiter has none of it"
is "$(sum "$M/f")" "$(sum "$WORK/data")" "it reads back"
ok "appending works" sh -c "echo more >>'$M/f'"
ok "so does cutting" truncate -s 70000 "$M/f"
ok "allocating" fallocate -l 80000 "$M/f"
ok "and punching holes" fallocate -p -o 4096 -l 4096 "$M/f"
is "$(sizes f)" "80000 80000 0" "the arbiter is still empty"
is "$(sum "$B/1/f")" "$(sum "$B/2/f")" "the data bricks are equal"
# A range copied by the bricks themselves: the arbiter is told of it as of a write.
copy_range() { # FROM TO BYTES
  python3 - "$@" <<'PY'
import os, sys
a, b, left = os.open(sys.argv[1], os.O_RDONLY), os.open(sys.argv[2], os.O_CREAT | os.O_RDWR, 0o644), int(sys.argv[3])
while left:
    n = os.copy_file_range(a, b, left)
    if not n:
        sys.exit("short by %d" % left)
    left -= n
PY
}
gi volume set v debug.log-file on >/dev/null
gi volume set v debug.trace client >/dev/null
ok "a range is copied" copy_range "$M/f" "$M/c" 80000
ok "by the bricks" within 5 grep -q 'COPY_FILE_RANGE = [1-9]' "$WORK/mount-mnt.log"
gi volume reset v debug.trace >/dev/null
is "$(sizes c)" "80000 80000 0" "the arbiter has none of the copy"
is "$(sum "$B/1/c") $(sum "$B/2/c")" "$(sum "$B/1/f") $(sum "$B/1/f")" "both data bricks have all of it"
ok "attributes go to all three" chmod 600 "$M/f"
is "$(stat -c %a "$B/3/f")" 600 "also to the arbiter"
ok "no brick is blamed" within 5 no_marks

# ---- the arbiter is never read, even if it is preferred ----
gi volume set v cluster.read-subvolume-index 2 >/dev/null
is "$(stat -c %s "$M/f")" 80000 "with the arbiter as preferred brick the size is right"
is "$(sum "$M/f")" "$(sum "$B/1/f")" "and so is the content"
gi volume reset v cluster.read-subvolume-index >/dev/null

# ---- a data brick misses a write ----
kill_brick 1
dd if=/dev/urandom of="$WORK/new" bs=64K count=1 status=none
ok "without a data brick writing goes on" cp "$WORK/new" "$M/f"
ok "the good one remembers" within 5 sh -c 'getfattr --absolute-names -n trusted.afr.v-client-0 -e hex "$1" | grep -Eq "=0x[0-9a-f]{7}[1-9]0{16}$"' sh "$B/2/f"
same_marks() { [ "$(mark 3 f 0)" = "$(mark 2 f 0)" ]; }
ok "and so does the arbiter" within 5 same_marks
is "$(sum "$M/f")" "$(sum "$WORK/new")" "the new content is read"

# ---- only the stale brick and the arbiter ----
ok "the brick comes back" gi volume start v force
ok "and is used" within 20 reaches 1
kill_brick 2
refused() { # COMMAND: it fails, and because nobody is there
  OUTPUT=$("$@" 2>&1) && return 1
  printf '%s' "$OUTPUT" | grep -q 'not connected'
}
ok "the stale copy is not shown" within 10 refused cat "$M/f"
ok "not its attributes" refused stat "$M/f"
ok "nor is it written" refused sh -c "LC_ALL=C dd if=/dev/zero of='$M/f' bs=1 count=1 conv=notrunc"
ok "the other data brick comes back" gi volume start v force
ok "and is used" within 20 reaches 2
is "$(sum "$M/f")" "$(sum "$WORK/new")" "then the good copy is read"

# ---- without the arbiter ----
kill_brick 3
ok "without the arbiter writing goes on" cp "$WORK/data" "$M/g"
is "$(sum "$M/g")" "$(sum "$WORK/data")" "and reading"
is "$(sum "$B/1/g")" "$(sum "$B/2/g")" "on both data bricks"

# ---- two copies get an arbiter ----
N=$WORK/pair
must "a volume of two copies" gi volume create pair replica 2 "$HOST:$B/p1" "$HOST:$B/p2" force
must "starts" gi volume start pair
must "and mounts" mount_volume pair "$N" --entry-timeout=0 --attribute-timeout=0
mkdir -p "$N/d/e" && cp "$WORK/data" "$N/d/f" && ln -s f "$N/d/link" && chmod 640 "$N/d/f" && setfattr -n user.a -v b "$N/d/f"
ok "an arbiter is added" gi volume add-brick pair replica 3 arbiter 1 "$HOST:$B/p3" force
like "$(gi volume info pair)" "^Brick3: $HOST:$B/p3 \(arbiter\)\$" "info names it"
healed() { [ "$(gi volume heal pair info | grep -c '^Number of entries: 0$')" = 3 ] && [ -e "$B/p3/d/f" ]; }
ok "it is healed" within 60 healed
names() { (cd "$B/$1" && find . -path ./.glusterfs -prune -o -printf '%p %y %m %l\n' | sort); }
is "$(names p3)" "$(names p1)" "the arbiter has all names"
is "$(stat -c %s "$B/p3/d/f")" 0 "and no data"
is "$(getfattr --absolute-names --only-values -n user.a "$B/p3/d/f")" b "but the attributes"
kill_brick p2 pair
ok "now one of two data copies may go away" cp "$WORK/new" "$N/d/f"
ok "it comes back" gi volume start pair force
whole() { cmp -s "$WORK/new" "$B/p2/d/f" && healed; }
ok "and is healed" within 60 whole
done_testing
