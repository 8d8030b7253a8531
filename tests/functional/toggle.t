#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every performance option that can be switched is switched at random, one a second, under PostgreSQL and under a writer that knows what
# every byte must be: no error, no wrong byte, nothing lost that was synced. TOGGLE_SECONDS: for how long (15). TOGGLE_SEED: the order.
. "$(dirname "$0")/pgbench.sh"
seconds=${TOGGLE_SECONDS:-15}
RANDOM=${TOGGLE_SEED:-$$}
note "TOGGLE_SEED=${TOGGLE_SEED:-$$}"
start_pg_volume 1
client=$(pgrep -f "glusterishfs.*$WORK/mnt" | head -n 1)

# switches: the keys whose value is on or off in one word or another.
switches() { gi volume get pg all | awk '$1 ~ /^performance\./ && $2 ~ /^(on|off|yes|no|true|false|enable|disable)$/ {print $1}'; }
mapfile -t keys < <(switches)
ok "there are switches" test "${#keys[@]}" -ge 3

run_pgbench "$WORK/run/load.out" -T $((seconds + 2))
python3 "$(dirname "$0")/toggle.py" "$WORK/mnt" "$WORK/stop" "${TOGGLE_SEED:-$$}" "$WORK"/bricks/pg-{1,2,3} >"$WORK/count" 2>"$WORK/errors" &
writer=$!

switched=0 refused=()
# On a busy machine a switch takes long: some are made all the same.
for ((end = SECONDS + seconds; ${#keys[@]} > 0 && (SECONDS < end || switched < seconds / 3); )); do
  key=${keys[RANDOM % ${#keys[@]}]}
  value=$((RANDOM % 2))
  if out=$(gi volume set pg "$key" "$([ $value = 1 ] && echo on || echo off)" 2>&1); then
    switched=$((switched + 1))
    sleep 0.9
  else
    refused+=("$key: $out") # it has one value only in this version
    mapfile -t keys < <(printf '%s\n' "${keys[@]}" | grep -vxF "$key")
  fi
  kill -0 $writer 2>/dev/null || break
done
note "$switched switched"
for line in "${refused[@]}"; do note "$line"; done
ok "options were switched" test "$switched" -ge $((seconds / 3))
touch "$WORK/stop"
ok "the writer saw no error" wait $writer
is "$(cat "$WORK/errors")" "" "and no wrong byte"
note "$(cat "$WORK/count") operations of the writer"
no_error "no error in PostgreSQL" "$WORK/run/load.out"
is "$(pgrep -f "glusterishfs.*$WORK/mnt" | head -n 1)" "$client" "the mount is the same process"
ok "the server stops" pg_stop "$data"
ok "all its pages have their checksums" as_postgres "$pg_bin/pg_checksums" --check -D "$data"
for f in w0 w1 w2 w3; do
  is "$(md5sum <"$WORK/bricks/pg-2/$f")$(md5sum <"$WORK/bricks/pg-3/$f")" "$(md5sum <"$WORK/bricks/pg-1/$f")$(md5sum <"$WORK/bricks/pg-1/$f")" \
    "the bricks have the same $f"
done
done_testing
