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
# Calls that do not depend on how busy the machine is, nor on the kernel's version.
calls='[.calls | to_entries[] | select(.key | IN("newfstatat", "fgetxattr", "fsetxattr", "flistxattr", "linkat", "unlinkat", "renameat", "mkdirat",
  "openat", "close", "pwritev", "preadv2", "fsync", "ftruncate", "fchmodat", "readlinkat")) | .value] | add // 0'

# What is given back goes with the next message, and by itself only where that is long in coming: RELEASE, or the marks of a session.
# The directory is looked at every second, whatever is done in it.
messages='.messages - (.kinds.RELEASE // 0) - (.kinds.STAT // 0) - ([.kinds.FXATTROP // 0, 1] | min) -
  (.kinds.LOOKUP // 0 | . - floor)'

# What the client trusts does not end meanwhile: how long all this takes should not matter.
count() {
  "$GLUSTERISH_SRCDIR/tests/bench/counts" --files 25 --json "$counts" --set features.cache-invalidation-timeout=3600 \
    create stat mkdir symlink overwrite read rename unlink
}

of() { jq -c --arg o "$1" '.operations[] | select(.operation == $o)' "$counts"; }

# operation, messages, calls
ceilings='create 2.6 32
stat 0.4 3
mkdir 1.6 14
symlink 1.6 10
overwrite 4.2 26
read 1.6 8
rename 2.6 16
unlink 1.6 12'

few_messages() { # operation, ceiling
  jq -e "($messages) <= $2" <<<"$(of "$1")" >/dev/null
}

all_few() {
  local o m
  while read -r o m _; do few_messages "$o" "$m" || return 1; done <<<"$ceilings"
}

must "small files are counted" count
# A brick that is slow to answer is not waited for, and what it did not say is not trusted: then more is asked.
all_few || count >/dev/null

while read -r o m c; do
  note "$(of "$o")"
  ok "$o: at most $m messages" few_messages "$o" "$m"
  if jq -e '.system_calls' <<<"$(of "$o")" >/dev/null; then
    ok "$o: at most $c calls on files" jq -e "($calls) <= $c" <<<"$(of "$o")"
  else
    pass "$o: calls on files # SKIP strace cannot count them"
  fi
done <<<"$ceilings"

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
