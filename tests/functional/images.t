#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Virtual machines' disks in blocks on two replica sets, written with O_DIRECT while bricks are killed and come back, a set is added and a
# rebalance moves blocks: every page is what was written last. IMAGES_ROUNDS=N: so many times, with a volume of its own each; IMAGES_KILLS="2 6 …": the
# bricks that are killed before the set is added; IMAGES_AWAY=SECONDS: for how long. By hand, about a minute a round; ten rounds without a difference
# are what is to hold, from the build directory: IMAGES_ROUNDS=10 make check TESTS=tests/functional/images.t
. "$(dirname "$0")/lib.sh"
require_root
require_fuse
rounds=${IMAGES_ROUNDS:-1}
start_glusterishd >/dev/null

healed() { [ "$(gi volume heal "$1" info | awk '/^Number of entries: / {s += $4} END {print s}')" = 0 ]; }
all_online() { [ "$(gi volume status "$1" | grep -c ' Y  *[0-9][0-9]* *$')" -ge "$2" ]; }
done_with() { gi volume rebalance "$1" status | awk 'NR == 3 {print $7}' | grep -qx completed; }

# kill_one VOLUME N: a brick dies, is missed for a while, and comes back.
kill_one() {
  kill -KILL "$(brick_pid "$1" "$WORK/bricks/$1-$2")" && sleep "${IMAGES_AWAY:-1}" && gi volume start "$1" force >/dev/null
}

image_round() {
  local v=image$1 n
  must "a volume of two sets is there" start_volume "$v" 3 2
  must "its files are kept in blocks" gi volume set "$v" features.shard on features.shard-block-size 4MB
  must "it is mounted" mount_volume "$v" "$WORK/$v"
  local stop=$WORK/stop-$v pids=()
  for n in 1 2; do
    python3 "$(dirname "$0")/images.py" "$WORK/$v/disk$n" 40 "$stop" "$1$n" >"$WORK/$v-$n.out" 2>&1 &
    pids+=($!)
  done
  for n in ${IMAGES_KILLS:-6}; do
    ok "a brick is killed, and comes back" kill_one "$v" "$n"
    ok "all bricks are there" within 20 all_online "$v" 6
    ok "and healed" within 60 healed "$v"
  done
  ok "a set is added" gi volume add-brick "$v" "$HOST:$WORK/bricks/$v-7" "$HOST:$WORK/bricks/$v-8" "$HOST:$WORK/bricks/$v-9" force
  ok "the mount uses it" within 20 grep -q "the volume is spread over 3 subvolumes now" "$WORK/mount-$v.log"
  ok "a rebalance begins" gi volume rebalance "$v" start
  ok "a brick is killed meanwhile" kill_one "$v" 4
  ok "it ends" within 120 done_with "$v"
  like "$(find "$WORK/bricks/$v-7/.shard" -name '*.[0-9]*' -size +0 | wc -l)" '[1-9]' "blocks are on the new set"
  ok "and all is healed" within 60 healed "$v"
  touch "$stop"
  for n in 1 2; do ok "every page of disk $n is what was written last" wait "${pids[n - 1]}"; done
  note "$(cat "$WORK/$v"-[12].out)"
  md5sum "$WORK/$v"/disk? >"$WORK/$v.sums"
  unmount "$WORK/$v"
  ok "it is mounted again" mount_volume "$v" "$WORK/$v"
  ok "and has the same content" md5sum --quiet -c "$WORK/$v.sums"
  unmount "$WORK/$v"
  gi volume stop "$v" force >/dev/null
}

# As virtual machines' tools write them: past the page cache, with holes, in the format that has tables of its own.
if command -v qemu-img >/dev/null; then
  must "a volume for images is there" start_volume qemu 3
  must "in blocks" gi volume set qemu features.shard on features.shard-block-size 4MB
  must "mounted" mount_volume qemu "$WORK/qemu"
  { head -c 3000000 /dev/urandom && head -c 9000000 /dev/zero && head -c 6000000 /dev/urandom; } >"$WORK/raw"
  truncate -s 40M "$WORK/raw"
  ok "an image is written" qemu-img convert -t none -f raw -O qcow2 "$WORK/raw" "$WORK/qemu/a.qcow2"
  kill_one qemu 2
  ok "copied" qemu-img convert -T none -t none -f qcow2 -O raw "$WORK/qemu/a.qcow2" "$WORK/qemu/b.raw"
  ok "grown" qemu-img resize -f raw "$WORK/qemu/b.raw" 10T
  ok "and shrunk" qemu-img resize --shrink -f raw "$WORK/qemu/b.raw" 40M
  ok "it is whole" qemu-img check -f qcow2 "$WORK/qemu/a.qcow2"
  ok "and both are what was written" sh -c "qemu-img compare -f raw -F qcow2 '$WORK/raw' '$WORK/qemu/a.qcow2' && cmp '$WORK/raw' '$WORK/qemu/b.raw'"
  unmount "$WORK/qemu"
  gi volume stop qemu force >/dev/null
fi

for round in $(seq "$rounds"); do image_round "$round"; done
done_testing
