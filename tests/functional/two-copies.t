#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A volume of two copies without a self-heal daemon: who looks at a name brings it in line, and the way out of a split brain can be reached.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/bricks.sh"
require_root
require_fuse
start_glusterishd >/dev/null
start_volume two 2 >/dev/null || { echo "Bail out! no volume"; exit 1; }
for o in "self-heal-daemon off" "quorum-type none" "data-self-heal off" "metadata-self-heal off" "entry-self-heal off"; do
  gi volume set two cluster.${o% *} "${o#* }" >/dev/null
done
M=$WORK/mnt B1=$WORK/bricks/two-1 B2=$WORK/bricks/two-2
must "it is mounted" mount_volume two "$M" --attribute-timeout=0 --entry-timeout=0

kill_brick() { local pid; pid=$(brick_pid two "$1") && kill -9 "$pid" && within 10 not_running "$pid"; }
start_bricks() { gi volume start two force >/dev/null; }
made() { stat "$M/b" && [ -e "$B2/b" ]; }
contradicted() { stat "$M/split" && ! cat "$M/split"; }

echo old >"$M/a"
echo old >"$M/split"
ok "one brick goes" kill_brick "$B2"
rm "$M/a"
echo new >"$M/b"
echo first >"$M/split"
ok "it comes back" start_bricks
ok "who looks at a name has it made where it is missing" within 20 made
nok "what was removed is not there" stat "$M/a"
nok "and not left on the brick that had missed it" test -e "$B2/a"
is "$(cat "$M/b")" new "what was made has its content"

ok "the other brick goes" kill_brick "$B1"
echo second-second >"$M/split"
ok "and comes back" start_bricks
within 20 contradicted
echo by-hand >"$B1/found"
echo by-hand >"$B2/found"
ok "a file whose copies contradict each other is there" stat "$M/split"
nok "but is not read" cat "$M/split"
like "$(getfattr --only-values -n replica.split-brain-status "$M/split" 2>&1)" "data-split-brain:yes" "it is said to be in split brain"
ok "one copy is chosen" setfattr -n replica.split-brain-choice -v two-client-0 "$M/split"
is "$(cat "$M/split")" first "and read"
ok "the choice is made final" setfattr -n replica.split-brain-heal-finalize -v two-client-0 "$M/split"
is "$(cat "$B2/split")" first "and the other copy healed"

within 5 stat "$M/found"
is "$(cat "$M/found")" by-hand "a file that somebody put on the bricks is read"
is "$(getfattr -n trusted.gfid -e hex --absolute-names --only-values "$B1/found" | md5sum)" \
  "$(getfattr -n trusted.gfid -e hex --absolute-names --only-values "$B2/found" | md5sum)" "its copies have one gfid"
done_testing
