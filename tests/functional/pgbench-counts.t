#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What filling a database costs on the default mount, in requests of the kernel and in messages: counts, so that it does not matter how
# busy the machine is.
. "$(dirname "$0")/pgbench.sh"
command -v jq >/dev/null || skip_all "needs jq"
wait_for() { within "$@"; }
. "$top/tests/bench/counts.sh"
COUNTS_CALLS=no
make_work
export GLUSTERISH_STATEDUMP_DIR=$WORK/dumps
mkdir -p "$WORK/dumps"
start_pg_volume 1
client=$(pgrep -f "glusterishfs.*$WORK/mnt\$" | head -n 1)
bricks="$(brick_pid pg "$WORK/bricks/pg-1") $(brick_pid pg "$WORK/bricks/pg-2") $(brick_pid pg "$WORK/bricks/pg-3")"

# sent KIND: messages of it to the brick that got most.
sent() {
  rm -f "$WORK"/dumps/*
  kill -USR1 "$client" && within 10 counts_dumped || return 1
  awk -F= -v key="sent.$1" '/^\[/ {s = $0} s ~ /^\[xlator.protocol.client/ && $1 == key && $2 > m {m = $2} END {print m + 0}' "$WORK"/dumps/*
}

# "BYTES MESSAGES": what the kernel has written, and the WRITEs to the brick that got most.
written() {
  rm -f "$WORK"/dumps/*
  kill -USR1 "$client" && within 10 counts_dumped || return 1
  awk -F= '/^\[/ {s = $0} s ~ /^\[mount\/fuse\./ && $1 == "write_bytes" {b = $2}
    s ~ /^\[xlator.protocol.client/ && $1 == "sent.WRITE" && $2 > m {m = $2} END {print b + 0, m + 0}' "$WORK"/dumps/*
}

counts_client=$client counts_dumps=$WORK/dumps
opens=$(sent OPEN) creates=$(sent CREATE)
note "initdb, the server and a database: $opens opens and $creates creates are sent"
# initdb alone opens 976 files 4995 times. When this was written half as many opens were sent as files were made.
ok "who made or wrote a file opens and syncs it without asking" test "$opens" -le "$creates"

counts_begin "$WORK/mnt" "$client" "$bricks" "$WORK/dumps"
read -r bytes messages < <(written)
ok "a database is filled" as_postgres "$pg_bin/pgbench" -h "$WORK/run" -i -q -s 2 bench
read -r bytes_after messages_after < <(written)
counts=$(counts_end 1) || counts='{}'
bytes=$((bytes_after - bytes)) messages=$((messages_after - messages))
writes=$((bytes / 8192))
note "$writes pages in $messages messages; $counts"
ok "many pages were written" test "$writes" -gt 2000
requests=$(jq '.fuse_requests // 0 | floor' <<<"$counts")
ok "at most three requests beside two writes" test $(((requests - writes) * 2)) -le $((writes * 3))
ok "a message carries two pages and more" test $((bytes / (messages + 1))) -ge 16384 # 32 KiB when this was written
ok "a receive brings a message or more" jq -e '.recv_per_message <= 1.1' <<<"$counts"
ok "at most a twentieth of it is copied" jq -e '.copied_share <= 0.05' <<<"$counts"
if [ "$(jq .fuse <<<"$counts")" != null ]; then
  ok "nothing is asked for before a write, and little read" jq -e '(.fuse.GETXATTR // 0) + (.fuse.READ // 0) <= 0.05 * .fuse.WRITE' <<<"$counts"
fi
ok "the server stops" pg_stop "$data"
done_testing
