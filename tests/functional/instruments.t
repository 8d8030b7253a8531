#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What GlusterFS' own instruments show of real bricks: volume profile, top, status, clear-locks, get-state.
. "$(dirname "$0")/lib.sh"
require_root
require_fuse

start_glusterishd || exit 1
must "a volume starts" start_volume v 2
M=$WORK/mnt
must "it is mounted" mount_volume v "$M"
BRICK=$HOST:$WORK/bricks/v-1

# ---- files are counted without being asked to ----
mkdir "$M/dir"
head -c 300000 /dev/zero >"$M/dir/big"
printf 'some' >"$M/small"
cat "$M/small" >/dev/null
ls "$M/dir" >/dev/null
written() { gi volume top v write brick "$BRICK"; }
is "$(written | sed -n 2,3p)" "$(printf 'Count\t\tfilename\n=======================')" "written files are listed"
like "$(written)" "^[0-9]+"$'\t\t'"/dir/big\$" "by their paths"
is "$(gi volume top v write list-cnt 1 brick "$BRICK" | wc -l)" 4 "as many as are wanted"
like "$(gi volume top v open brick "$BRICK")" '^Current open fds: [0-9]+, Max open fds: [1-9][0-9]*, Max openfd time: 20..-..-.. ..:..:..\.[0-9]{6} \+0000$' \
  "so are open files"
like "$(gi volume top v write-perf bs 4096 count 10 brick "$BRICK")" '^Throughput [0-9]+\.[0-9]{2} MBps time [0-9.]+ secs$' \
  "a brick measures its disk"
files=$(curl -s --max-time 20 --unix-socket "$WORK"/observe/brick-*-v-1-*.socket http://localhost/files)
like "$files" '"path": ?"/dir/big"' "the observation socket shows them too"
big_bytes() { jq -e ".files[] | select(.path == \"/dir/big\") | .bytes_written >= 300000" <<<"$files"; }
ok "with their bytes" big_bytes # a write that met a healer is repeated
is "$(gi volume top v clear brick "$BRICK")" "Cleared stats for brick $BRICK" "what was counted is forgotten"
is "$(written)" "Brick: $BRICK" "and nothing is listed"

# ---- operations are, when they shall be ----
like "$(gi volume profile v info 2>&1)" '^Profile on Volume v is not started$' "there is no profile before it starts"
is "$(gi volume profile v start)" "Starting volume profile on v has been successful " "a profile starts"
counts() { printf 'x' >>"$M/small" && gi volume profile v info cumulative | grep -Eq '^ +[0-9.]+ +[0-9.]+ ns +[0-9.]+ ns +[0-9.]+ ns +[0-9]+ +WRITE$'; }
ok "and counts" within 10 counts
like "$(gi --xml volume profile v info peek)" '<fop>' "in XML too"
like "$(gi --json volume profile v info peek)" '"p99": [0-9.]+' "and with percentiles in JSON"
like "$(gi volume profile v info clear)" '^Cleared stats\.$' "what was counted is forgotten"
is "$(gi volume profile v stop)" "Stopping volume profile on v has been successful " "it stops"
is "$(gi volume info v | grep -c ^diagnostics)" 0 "and leaves no option"

# ---- tables of a brick ----
exec 7>>"$M/small"
printf 'y' >&7
listed() { gi volume status v "$BRICK" fd | grep -Eq '^[0-9]+ +[0-9]+ +[0-9]+ +[0-9]+'; }
ok "open descriptors are listed" within 10 listed
like "$(gi volume status v "$BRICK" inode)" '^Active Inodes : [1-9]' "and inodes are counted"
like "$(gi volume status v "$BRICK" callpool)" '^Pending calls: [0-9]+$' "and calls under way"
exec 7>&-

# ---- locks ----
exec 8>>"$M/small"
ok "a lock is taken" flock -n 8
is "$(gi volume clear-locks v /small kind all posix 2>&1 | grep -c 'posix blocked locks=0 granted locks=1')" 2 "all bricks clear it"
is "$(gi volume clear-locks v /small kind all posix | grep -c '^No locks cleared\.$')" 2 "once"
like "$(gi volume clear-locks v /nosuch kind all inode 2>&1)" 'Reason: No such file or directory' "a missing path is told"
ok "another is waited for" flock -n 8
python3 -c 'import fcntl, sys; fcntl.flock(open(sys.argv[1]), fcntl.LOCK_EX)' "$M/small" 2>/dev/null &
waiter=$!
waits() { gi volume status v "$BRICK" callpool | grep -q '^  Translator = v-locks$'; }
ok "who waits is among the calls of the brick" within 10 waits
ok "clearing ends the wait" gi volume clear-locks v /small kind all posix
wait $waiter
exec 8>&-

# ---- state dumps, as a whole and in parts ----
dumps() { ls "$WORK"/d/run/*v-1.*.dump.* 2>/dev/null; }
dumped() { [ -n "$(dumps)" ] && grep -q '^DUMP-END-TIME' $(dumps); }
sections() { grep '^\[' $(dumps); }
ok "a state dump of the memory is asked for" gi volume statedump v mem
ok "it is written" within 10 dumped
like "$(sections)" '^\[mallinfo\]$' "with the memory"
is "$(sections | grep -c '/')" 0 "and no translator"
rm -f "$WORK"/d/run/*.dump.*
gi volume statedump v >/dev/null
ok "one of everything is written" within 10 dumped
like "$(sections)" '^\[storage/posix\.' "with the translators"

# ---- the daemon ----
is "$(gi get-state odir "$WORK" file state detail)" "glusterd state dumped to $WORK/state" "the daemon's state is written"
like "$(cat "$WORK/state")" '^Volume1.Brick2.Client1.hostname: ' "with the clients"
done_testing
