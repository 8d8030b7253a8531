# SPDX-License-Identifier: Apache-2.0
# Runs PostgreSQL's life on a directory: initdb, pgbench -i, a TPC-B run. Source it after lib.sh. The server only listens on a
# socket in a directory of its own, so nothing else on the machine is touched.
# shellcheck shell=bash

pg_bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
pg_settings=${PG_SETTINGS:-"shared_buffers=128MB max_wal_size=1GB"}

as_postgres() { (cd / && runuser -u postgres -- "$@"); }

now_s() { date +%s.%N; }
minus() { echo "$1 $2" | awk '{printf "%.2f", $1 - $2}'; }

# pg_start DATA RUN: starts the server on DATA with its socket and log in RUN.
pg_start() {
  local s opts="-c listen_addresses= -c unix_socket_directories=$2"
  for s in $pg_settings; do opts+=" -c $s"; done
  as_postgres "$pg_bin/pg_ctl" -s -w -t 120 -D "$1" -l "$2/server.log" -o "$opts" start
}

pg_stop() { as_postgres "$pg_bin/pg_ctl" -s -w -t 120 -m fast -D "$1" stop; }

# pg_steadiness LOG: how many times the rate of its first tenth the last tenth of the rows came with that pgbench -i told of, one line for
# each 100,000; null if these are less than ten.
pg_steadiness() {
  awk -F'[(]elapsed ' '/tuples .*elapsed/ {at[++n] = $2 + 0}
    END {few = int(n / 10); last = n ? at[n] - at[n - few] : 0; if (few && last > 0) printf "%.2f", at[few] / last; else printf "null"}' "$1"
}

# pg_measure DIR RUN SCALE SECONDS: DIR is a directory owned by postgres in which "data" is made anew and removed afterwards. Prints one
# JSON object {"initdb_s", "init_s", "rate_of_last_tenth", "tps"}. TPC-B has pg_clients (4) clients; SECONDS 0 leaves it out (tps null).
# RUN/init.switches gets the context switches of the whole machine during pgbench -i. With pg_also=COMMAND that runs at last, with RUN; what
# it prints, `, "member": value`, is added. With pg_ready=COMMAND that runs when the server is up, and pg_gone=COMMAND when it is down, with
# DIR and RUN.
pg_measure() {
  local dir=$1 run=$2 scale=$3 seconds=$4 t0 t1 t2 t3 switches tps=null also=''
  [ -n "$pg_bin" ] || { echo "PostgreSQL is not installed" >&2; return 1; }
  mkdir -p "$run" && chown postgres "$run" || return 1
  rm -rf "$dir/data"
  t0=$(now_s)
  as_postgres "$pg_bin/initdb" -D "$dir/data" -A trust --data-checksums >"$run/initdb.log" 2>&1 || { cat "$run/initdb.log" >&2; return 1; }
  t1=$(now_s)
  pg_start "$dir/data" "$run" || { cat "$run/server.log" >&2; return 1; }
  if [ -n "${pg_ready:-}" ]; then "$pg_ready" "$dir" "$run" || return 1; fi
  as_postgres "$pg_bin/createdb" -h "$run" bench || return 1
  switches=$(awk '/^ctxt/ {print $2}' /proc/stat)
  t2=$(now_s)
  as_postgres "$pg_bin/pgbench" -h "$run" -i -s "$scale" bench >"$run/init.log" 2>&1 || { cat "$run/init.log" >&2; return 1; }
  t3=$(now_s)
  awk -v before="$switches" '/^ctxt/ {print $2 - before}' /proc/stat >"$run/init.switches"
  if [ "$seconds" -gt 0 ]; then
    as_postgres "$pg_bin/pgbench" -h "$run" -c "${pg_clients:-4}" -j 2 -T "$seconds" bench >"$run/tpcb.log" 2>&1 || { cat "$run/tpcb.log" >&2; return 1; }
    tps=$(awk '/^tps = / {printf "%.1f", $3}' "$run/tpcb.log")
  fi
  if [ -n "${pg_also:-}" ]; then also=$("$pg_also" "$run") || return 1; fi
  pg_stop "$dir/data" || return 1
  if [ -n "${pg_gone:-}" ]; then "$pg_gone" "$dir" "$run" || return 1; fi
  rm -rf "$dir/data"
  printf '{"initdb_s": %s, "init_s": %s, "rate_of_last_tenth": %s, "tps": %s%s}\n' "$(minus "$t1" "$t0")" "$(minus "$t3" "$t2")" \
    "$(pg_steadiness "$run/init.log")" "${tps:-null}" "$also"
}
