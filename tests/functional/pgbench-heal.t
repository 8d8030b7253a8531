#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# PostgreSQL with data checksums on a replica-3 volume while its bricks are killed and frozen one after another, each healed before the
# next: no error in PostgreSQL, no damaged page, no damaged index, all bricks identical at the end, nothing left to heal.
#
# GLUSTERISH_SOAK_SECONDS is how long (default: until one was killed and one frozen; 600 is the real thing).
. "$(dirname "$0")/pgbench.sh"
seconds=${GLUSTERISH_SOAK_SECONDS:-0}
start_pg_volume 5
run_pgbench "$WORK/run/load.out" -T $((seconds + 30))

# Nothing is blamed or being healed, and every brick answers. Files in use are dirty all the time; that alone is not something to heal.
healed() {
  gi volume heal pg info summary |
    awk -F': ' '/^Total Number/ {n += $2} /^Status/ && !/Connected/ {n++} END {exit n > 0}'
}

rounds=0 kills=0 freezes=0 end=$((SECONDS + seconds))
while { [ $rounds -lt 2 ] || [ $SECONDS -lt $end ]; } && kill -0 $load 2>/dev/null; do
  victim=$((rounds % 3 + 1)) pid=$(brick_pid pg "$WORK/bricks/pg-$((rounds % 3 + 1))")
  if [ $((rounds % 2)) = 0 ]; then
    kill -9 "$pid"
    kills=$((kills + 1))
    sleep 2
    gi volume start pg force >/dev/null
  else
    kill -STOP "$pid"
    freezes=$((freezes + 1))
    sleep 7
    kill -CONT "$pid"
  fi
  sleep 3 # a second later, at most, the marks tell what the brick missed
  within 120 healed || { fail "brick $victim is healed within two minutes" "$(gi volume heal pg info | tail -n 30)"; break; }
  rounds=$((rounds + 1))
done
note "$kills bricks killed, $freezes frozen"
[ $rounds -gt 0 ] && pass "bricks were killed, frozen and healed" || fail "bricks were killed, frozen and healed"

no_error "no error in pgbench" "$WORK/run/load.out"
is "$(grep -E 'ERROR|PANIC|FATAL' "$WORK/run/server.log")" "" "no error in PostgreSQL's log"
ok "amcheck is there" as_postgres "$pg_bin/psql" -q -h "$WORK/run" -c 'create extension amcheck' bench
ok "pg_amcheck finds nothing" as_postgres "$pg_bin/pg_amcheck" -h "$WORK/run" --heapallindexed bench
ok "the server stops" pg_stop "$data"
as_postgres "$pg_bin/pg_ctl" -s -D "$data" -m immediate stop >/dev/null 2>&1 # if it did not
ok "pg_checksums finds nothing" as_postgres "$pg_bin/pg_checksums" --check -D "$data"
ok "everything is healed" within 120 healed
is "$(gi volume heal pg info | grep -c '^Number of entries: 0')" 3 "heal info is at zero for all three"
nothing_kept() { [ -z "$(find "$WORK"/bricks/pg-?/.glusterfs-anonymous-inode-* -mindepth 1)" ]; }
ok "nothing waits for a name" within 30 nothing_kept
for b in 2 3; do
  ok "brick $b has what brick 1 has" diff -r --exclude=.glusterfs "$WORK/bricks/pg-1" "$WORK/bricks/pg-$b"
done
done_testing
