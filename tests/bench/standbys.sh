# SPDX-License-Identifier: Apache-2.0
# What somebody with one database would take instead of a replicated file system: PostgreSQL on a local directory with two standbys that have each
# commit on their disk before it is answered (synchronous_commit = on). All three share this machine and its disk, as bricks do. Source
# it after extras/pgbench.sh, for pg_ready and pg_gone.
# shellcheck shell=bash

standbys_sql() { as_postgres "$pg_bin/psql" -h "$1" -X -q -t -A -c "$2" postgres; }

standbys_follow() { [ "$(standbys_sql "$1" "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'")" = 2 ]; }

standbys_up() { # DIR RUN
  local s
  for s in s1 s2; do
    rm -rf --one-file-system "${1:?}/$s"
    mkdir -p "$2/$s" && chown postgres "$2/$s" &&
      as_postgres "$pg_bin/pg_basebackup" -h "$2" -D "$1/$s" -R -X stream -c fast >"$2/$s/copy.log" 2>&1 &&
      pg_settings="$pg_settings cluster_name=$s" pg_start "$1/$s" "$2/$s" || { cat "$2/$s"/*.log >&2; return 1; }
  done
  standbys_sql "$2" "ALTER SYSTEM SET synchronous_standby_names = '2 (s1, s2)'" && standbys_sql "$2" "SELECT pg_reload_conf()" >/dev/null &&
    wait_for 30 standbys_follow "$2"
}

standbys_down() { # DIR RUN
  pg_stop "$1/s1" && pg_stop "$1/s2" && rm -rf --one-file-system "${1:?}"/s[12]
}
