# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What tests with PostgreSQL share: a server with data checksums on a mounted replica-3 volume "pg", filled by pgbench -i.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
. "$(dirname "${BASH_SOURCE[0]}")/bricks.sh"
top=$GLUSTERISH_SRCDIR
. "$top/extras/pgbench.sh"

# start_pg_volume SCALE: sets data; the server's socket and logs are in $WORK/run.
start_pg_volume() {
  require_root
  require_fuse
  [ -n "$pg_bin" ] || skip_all "PostgreSQL is not installed"
  start_glusterishd
  chmod 755 "$WORK"
  must "the volume starts" start_volume pg 3
  must "it mounts" mount_volume pg "$WORK/mnt"
  mkdir -p "$WORK/run" "$WORK/mnt/pg" && chown postgres "$WORK/run" "$WORK/mnt/pg"
  data=$WORK/mnt/pg/data
  must "initdb with checksums" as_postgres "$pg_bin/initdb" -D "$data" -A trust --data-checksums
  must "the server starts" pg_start "$data" "$WORK/run"
  must "a database is made" as_postgres "$pg_bin/createdb" -h "$WORK/run" bench
  must "it is filled" as_postgres "$pg_bin/pgbench" -h "$WORK/run" -i -q -s "$1" bench
}

# run_pgbench OUTPUT OPTION...: in the background; sets load to its pid.
run_pgbench() {
  local out=$1
  shift
  (cd "$WORK/run" && exec runuser -u postgres -- "$pg_bin/pgbench" -h "$WORK/run" -c 4 -j 1 "$@" bench) >"$out" 2>&1 &
  load=$!
}

# no_error NAME OUTPUT: waits for what run_pgbench started and passes if nothing went wrong.
no_error() {
  if wait "$load" && ! grep -qiE 'error|abort|fail(ed|ure)' <(grep -v 'number of failed transactions: 0 ' "$2"); then
    pass "$1"
  else
    fail "$1" "$(tail -n 20 "$2")"
  fi
}
