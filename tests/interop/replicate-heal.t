#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What our client writes while a brick is down carries the marks of replicate.md 11.1, and GlusterFS's own self-heal daemon heals
# it; and nothing that was acknowledged is lost while bricks are killed and frozen under load.
. "$(dirname "$0")/../functional/lib.sh"
. "$(dirname "$0")/bricks.sh"
require_glusterfs

work_while_a_brick_is_down() {
  local m=$1
  echo more >>"$m/w/a"
  chmod 600 "$m/w/b"
  echo new >"$m/w/newf"
  mkdir "$m/w/newd"
  rmdir "$m/w/sub"
}

more_work() {
  local m=$1
  rm "$m/w/old"
  mv "$m/w/deep" "$m/w/newd/deep"
  ln -s a "$m/w/ln"
  ln "$m/w/a" "$m/w/hard"
  truncate -s 100000 "$m/w/b"
  dd if=/dev/urandom of="$m/w/rnd" bs=8k count=300 2>/dev/null
}

for kind in ours real; do
  ok "bricks ($kind) start" interop_begin $kind
  M=$WORK/m-$kind
  ok "we mount them" interop_mount ours "$M"
  mkdir "$M/w" "$M/w/sub" "$M/w/deep"
  for f in a b old deep/f; do echo "$f" >"$M/w/$f"; done
  within 30 indices_empty # writers are done with them
  brick_stop 3
  work_while_a_brick_is_down "$M"
  # Bricks of ours keep the mark made before the write beside the one made with its regions.
  if [ $kind = ours ]; then n=2; else n=1; fi
  written() { # their ends are marked, on both
    for b in 1 2; do
      [[ $(marks $b w/a) == *=0x0000000${n}* && $(marks $b w/newf) == *=0x0000000$((n + 1))* ]] || return 1
      [[ $(marks $b w/a)$(marks $b w/newf) != *dirty* ]] || return 1
    done
  }
  within 30 written
  for b in 1 2; do
    is "$(marks $b w/a)" "client-2=0x0000000${n}0000000000000000" "brick $b: an append is a data mark"
    is "$(marks $b w/b)" "client-2=0x000000000000000100000000" "brick $b: chmod is a metadata mark"
    is "$(marks $b w)" "client-2=0x000000000000000000000003" "brick $b: three names changed"
    is "$(marks $b w/newf)" "client-2=0x0000000$((n + 1))0000000100000000" "brick $b: a new file that was written"
    is "$(marks $b w/newd)" "client-2=0x000000010000000100000001" "brick $b: a new directory"
  done
  more_work "$M"
  brick_start 3
  sleep 2
  is "$(tail -n 1 "$M/w/a")" "more" "the stale copy is not read"
  is "$(ls "$M/w" | tr '\n' ' ')" "a b hard ln newd newf rnd " "the stale names are not listed"
  echo third >>"$M/w/a"
  ok "GlusterFS's self-heal daemon starts" interop_shd real
  ok "it heals everything" within 60 indices_empty
  is "$(tree_of 3)" "$(tree_of 1)" "brick 3 is like brick 1"
  is "$(tree_of 2)" "$(tree_of 1)" "brick 2 is like brick 1"
  is "$(marks 1 w)$(marks 1 w/a)$(marks 1 w/newf)" "" "no mark is left"
  [ $kind = real ] && break # they go on to the load below
  unmount "$M"
  MOUNTS=()
  shd_stop real TERM
  for n in 1 2 3; do brick_stop $n; done
  rm -rf "$WORK"/b?
done

# ---- killing and freezing under load ----

python3 "$(dirname "$0")/writer.py" write "$M" "$WORK/state.json" 200 "$WORK/stop" >"$WORK/writer.out" 2>&1 &
writer=$!
for n in 1 2 3 1 2; do
  sleep 1
  brick_stop $n
  sleep 1
  brick_start $n
  within 30 pending_empty # a second brick lost before the first is healed is more than three copies can bear
done
kill -STOP "$(cat "$WORK/b3.pid")"
sleep 2
kill -CONT "$(cat "$WORK/b3.pid")"
within 30 pending_empty
touch "$WORK/stop"
wait $writer
note "$(cat "$WORK/writer.out")"
ok "everything is healed again" within 60 indices_empty
ok "all copies hold what was acknowledged" python3 "$(dirname "$0")/writer.py" check "$WORK/state.json" "$M" "$WORK"/b1 "$WORK"/b2 "$WORK"/b3
done_testing
