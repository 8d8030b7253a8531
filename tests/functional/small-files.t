#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What operations on small files cost in messages to a brick and in calls on the brick's files (tests/bench/counts). The ceilings are what they
# cost now, and a little: a change that needs more has a reason, and lowers them where it needs less. And that operations on different
# names of one directory do not wait for each other's locks.
. "$(dirname "$0")/lib.sh"
require_root
require_fuse
for tool in jq python3; do command -v $tool >/dev/null || skip_all "needs $tool"; done

make_work
counts=$WORK/counts.json
# What the client trusts does not end meanwhile: how long all this takes should not matter.
must "small files are counted" "$GLUSTERISH_SRCDIR/tests/bench/counts" --files 25 --json "$counts" \
  --set features.cache-invalidation-timeout=3600 create stat overwrite read rename unlink

# Calls that do not depend on how busy the machine is, nor on the kernel's version.
calls='[.calls | to_entries[] | select(.key | IN("newfstatat", "fgetxattr", "fsetxattr", "flistxattr", "linkat", "unlinkat", "renameat", "mkdirat",
  "openat", "close", "pwritev", "preadv2", "fsync", "ftruncate", "fchmodat", "readlinkat")) | .value] | add // 0'

# What is given back goes with the next message, and by itself only where that is long in coming: RELEASE, or the marks of a session.
# The directory is looked at every second, whatever is done in it.
messages='.messages - (.kinds.RELEASE // 0) - (.kinds.STAT // 0) - ([.kinds.FXATTROP // 0, 1] | min) -
  (.kinds.LOOKUP // 0 | . - floor)'

# costs OPERATION MESSAGES CALLS: it needs no more of either.
costs() {
  local one
  one=$(jq -c --arg o "$1" '.operations[] | select(.operation == $o)' "$counts")
  note "$one"
  ok "$1: at most $2 messages" jq -e "($messages) <= $2" <<<"$one"
  if jq -e '.system_calls' <<<"$one" >/dev/null; then
    ok "$1: at most $3 calls on files" jq -e "($calls) <= $3" <<<"$one"
  else
    pass "$1: calls on files # SKIP strace cannot count them"
  fi
}

costs create 3.6 32
costs stat 0.4 3
costs overwrite 4.8 26
costs read 2.5 14
costs rename 2.6 16
costs unlink 1.6 12

# ---- several who make names in one directory ----

start_glusterishd >/dev/null
must "a volume is there" start_volume names 3
export GLUSTERISH_STATEDUMP_DIR=$WORK/dumps
mkdir "$WORK/dumps"
must "it is mounted" mount_volume names "$WORK/m"
mkdir "$WORK/m/d"
makers() {
  local i j
  for i in 1 2 3 4; do
    { for j in $(seq 12); do echo x >"$WORK/m/d/$i-$j" && mv "$WORK/m/d/$i-$j" "$WORK/m/d/$i+$j" && rm "$WORK/m/d/$i+$j" || exit 1; done; } &
  done
  for i in $(jobs -p); do wait "$i" || return 1; done
}
ok "four processes make, move and remove names of one directory" makers

dumped() { grep -qs '^DUMP-END-TIME' "$WORK"/dumps/*."$client".*; }
client=$(pgrep -f "glusterishfs.*$WORK/m\$" | head -n 1)
kill -USR1 "$client" && within 5 dumped
is "$(awk -F= '/^\[/ {r = /^\[cluster\/replicate\./} r && $1 == "lock_conflicts" {print $2}' "$WORK"/dumps/*."$client".*)" 0 "none of them had to wait for a lock"
done_testing
