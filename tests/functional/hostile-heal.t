#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Bricks whose changelog attributes are garbage: nothing crashes, no good copy is overwritten, and heal info says what is wrong.
. "$(dirname "$0")/lib.sh"
require_root
require_fuse

spoiler() { python3 "$(dirname "$0")/hostile-heal.py" "$@"; }
start_glusterishd || exit 1
B=$WORK/bricks
M=$WORK/mnt
bricks=("$B/v-1" "$B/v-2" "$B/v-3")
connected() { [ "$(gi volume heal v info 2>/dev/null | grep -c '^Status: Connected$')" = 3 ]; }
kill_brick() { local pid; pid=$(brick_pid v "$B/v-$1") && kill -9 "$pid" && within 10 not_running "$pid"; }
alive() {
  local n
  for n in 1 2 3; do kill -0 "$(brick_pid v "$B/v-$n")" || return 1; done
}
online() { gi volume status v shd 2>/dev/null | grep -q '^Self-heal Daemon on localhost  *N/A  *N/A  *Y  *[0-9]'; }
# crawled TYPE COUNT: so many crawls of that type were begun and have ended.
crawled() {
  local text
  text=$(gi volume heal v statistics) || return 1
  ! grep -q 'in progress' <<<"$text" && [ "$(grep -c "Type of crawl: $1" <<<"$text")" -ge "$2" ]
}

# What no healer may touch and heal info does not list as split-brain.
not_told() {
  local splits path
  splits=$(gi volume heal v info split-brain)
  for path in $(spoiler undecided "$WORK/state"); do grep -qx -- "$path" <<<"$splits" || echo "$path"; done
}

must "a volume starts" start_volume v 3
gi volume set v cluster.self-heal-daemon off >/dev/null
for seed in ${SEEDS:-1 2}; do
  must "seed $seed: it is mounted" mount_volume v "$M"
  rm -rf "${M:?}"/*
  must "seed $seed: there are files" spoiler make "$M" 60 20
  kill_brick 3
  must "seed $seed: they change while brick 3 is down" spoiler change "$M"
  unmount "$M"
  for n in 1 2; do kill_brick $n; done
  must "seed $seed: the attributes are spoilt" spoiler spoil "$seed" "$WORK/state" "${bricks[@]}"
  gi volume start v force >/dev/null
  must "seed $seed: the bricks are back" within 30 connected
  [ "$(spoiler undecided "$WORK/state" | wc -l)" -ge 20 ] || fail "seed $seed: it makes too little trouble"
  is "$(not_told)" "" "seed $seed: heal info names what cannot be decided"
  ok "seed $seed: nothing changed by asking" spoiler check "$WORK/state" "${bricks[@]}"
  gi volume set v cluster.self-heal-daemon on >/dev/null
  ok "seed $seed: the self-heal daemon runs" within 20 online
  pid=$(shd_pid v)
  gi volume heal v >/dev/null
  ok "seed $seed: it went through the indices" within 60 crawled INDEX 3
  ok "seed $seed: no good copy was overwritten" spoiler check "$WORK/state" "${bricks[@]}"
  note "$OUTPUT"
  gi volume heal v full >/dev/null
  ok "seed $seed: it went through the volume" within 60 crawled FULL 1
  ok "seed $seed: no good copy was overwritten then" spoiler check "$WORK/state" "${bricks[@]}"
  is "$(shd_pid v)" "$pid" "seed $seed: it is the same daemon"
  ok "seed $seed: which is alive" kill -0 "$pid"
  must "seed $seed: it is mounted again" mount_volume v "$M"
  (cd "$M" && find . -type f -exec sh -c 'cat "$1"; echo more >>"$1"' - {} \; && ls -lR) >/dev/null 2>&1
  ok "seed $seed: the mount is alive" stat -t "$M"
  ok "seed $seed: the bricks are" alive
  is "$(not_told)" "" "seed $seed: what cannot be decided is still named"
  unmount "$M"
  gi volume set v cluster.self-heal-daemon off >/dev/null
  for n in 1 2 3; do # the next seed begins with nothing spoilt
    kill_brick $n
    find "$B/v-$n" -path "$B/v-$n/.glusterfs" -prune -o -print0 | xargs -0 -n 1 sh -c \
      'for k in dirty v-client-0 v-client-1 v-client-2; do setfattr -x trusted.afr.$k "$0" 2>/dev/null; done'
  done
  gi volume start v force >/dev/null
  must "seed $seed: all are back" within 30 connected
done
done_testing
