#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# PostgreSQL on a replica-3 volume while a brick is killed or frozen: no error, a bounded pause, the right marks on the others; with two
# bricks gone writes fail clearly and nothing is half acknowledged.
. "$(dirname "$0")/pgbench.sh"
start_pg_volume 2

# longest PREFIX: the longest transaction of a run, ms, from pgbench's log.
longest() { cat "$1".[0-9]* | awk '$3 > m {m = $3} END {printf "%d", m / 1000}'; }

# under_load NAME SECONDS COMMAND...: runs TPC-B and, two seconds in, the command.
under_load() {
  local name=$1 seconds=$2 out=$WORK/run/$1.out
  shift 2
  run_pgbench "$out" -T "$seconds" -l --log-prefix="$WORK/run/$name"
  sleep 2
  "$@"
  no_error "no error in PostgreSQL while a brick is $name" "$out"
  pause=$(longest "$WORK/run/$name")
  note "longest transaction while a brick is $name: $pause ms"
}

# blamed BRICK KEY: some file on the brick blames the client KEY, and no other.
blamed() { marks "$WORK/bricks/pg-$1" | grep -v 'trusted.afr.dirty' | grep -q "trusted.afr.$2="; }

# ---- killed ----
victim=$(brick_pid pg "$WORK/bricks/pg-3")
under_load killed 8 kill -9 "$victim"
# Its connections have ended with it: nobody waits until it does not answer a ping, which takes five seconds.
if [ "$pause" -lt 4000 ]; then pass "nothing waits for pings"; else fail "nothing waits for pings" "$pause ms"; fi
for b in 1 2; do
  ok "brick $b blames the killed brick" within 10 blamed $b pg-client-2
  is "$(marks "$WORK/bricks/pg-$b" | grep -E 'trusted.afr.pg-client-[01]=')" "" "brick $b blames no other"
done

# ---- frozen ----
# The killed brick comes back empty-handed but alive: it is still blamed, so it is not what the data is read from.
ok "the killed brick is started again" gi volume start pg force
attached_again() { [ "$(grep -c "attached to $WORK/bricks/pg-3" "$WORK/mount-mnt.log")" -ge 2 ]; }
ok "the mount uses it" within 20 attached_again
victim=$(brick_pid pg "$WORK/bricks/pg-2")
under_load frozen 14 kill -STOP "$victim"
if [ "$pause" -lt 10000 ]; then pass "it is waited for no longer than for two pings"; else fail "it is waited for no longer than for two pings" "$pause ms"; fi
ok "brick 1 blames the frozen brick" within 10 blamed 1 pg-client-1
kill -CONT "$victim" # and is healed at once
ok "the server stops" pg_stop "$data"

# ---- two gone ----
echo before >"$WORK/mnt/file"
sync "$WORK/mnt/file"
sleep 1.5
kill -9 "$(brick_pid pg "$WORK/bricks/pg-2")" "$(brick_pid pg "$WORK/bricks/pg-3")"
cut_off() { ! stat "$WORK/mnt/file"; }
ok "two bricks are gone" within 10 cut_off
out=$( (echo after >"$WORK/mnt/file2") 2>&1)
like "$out" 'not connected|Transport endpoint' "creating a file fails with a clear error when two bricks are gone"
[ ! -e "$WORK/bricks/pg-1/file2" ] && pass "and leaves nothing on the brick that is there" || fail "and leaves nothing on the brick that is there"
out=$(dd if=/dev/zero of="$WORK/mnt/file" bs=10 count=1 conv=notrunc 2>&1)
like "$out" 'not connected|Transport endpoint' "so does writing"
out=$(cat "$WORK/mnt/file" 2>&1)
like "$out" 'not connected|Transport endpoint' "and reading"
is "$(cat "$WORK/bricks/pg-1/file")" before "the file is as it was acknowledged"
done_testing
