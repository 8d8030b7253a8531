#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# volume heal and the self-heal daemon's process: what users type, and exactly what they get.
. "$(dirname "$0")/lib.sh"
require_root
require_fuse

start_glusterishd || exit 1
B=$WORK/bricks
M=$WORK/mnt

# says STATUS TEXT COMMAND...: exit status and whole output (both streams).
says() {
  local status=$1 text=$2 got
  shift 2
  run "$@"
  got=$?
  is "$got:$OUTPUT" "$status:$text" "$(printf '%s ' "${@//$WORK/.}")"
}
online() { gi volume status "$1" shd 2>/dev/null | grep -q '^Self-heal Daemon on localhost  *N/A  *N/A  *Y  *[0-9]'; }
pid_is_new() { [ -n "$(shd_pid "$1")" ] && [ "$(shd_pid "$1")" != "$2" ] && online "$1"; }
no_shd() { [ -z "$(shd_pid "$1")" ]; }

# ---- volumes that cannot be healed ----
says 254 $'Volume nosuch does not exist\nVolume heal failed.' gi volume heal nosuch info
says 254 $'Volume nosuch does not exist\nVolume heal failed.' gi volume heal nosuch split-brain bigger-file /x
says 1 $'Launching heal operation to perform index self heal on volume nosuch has been unsuccessful:\nVolume nosuch does not exist' gi volume heal nosuch
mkdir -p "$B"
gi volume create d "$HOST:$B/d" force >/dev/null
says 251 $'d: Not able to fetch volfile from glusterd\nVolume heal failed.' gi volume heal d info
says 1 $'Launching heal operation to perform index self heal on volume d has been unsuccessful:\nVolume d is not started.' gi volume heal d
gi volume start d >/dev/null
says 234 $'This command is supported for only volumes of replicate/disperse type. Volume d is not of type replicate/disperse\nVolume heal failed.' gi volume heal d info
like "$(gi volume heal d 2>&1)" '^Volume d is not of type replicate or disperse$' "a distributed volume has nothing to heal"
like "$(gi volume heal d enable 2>&1)" '^Volume d is not of type replicate or disperse$' "nor to switch on"
says 1 "Volume d is not Self-heal compatible" gi volume status d shd
like "$(gi --xml volume heal d info)" '<opErrno>22</opErrno>' "XML says the same"
like "$(gi --json volume heal d info)" '"opErrno": 22' "and JSON"

# ---- the self-heal daemon is kept ----
must "a replicated volume starts" start_volume v 3
ok "so does its self-heal daemon" within 20 online v
like "$(gi volume status v)" '^Self-heal Daemon on localhost +N/A +N/A +Y +[0-9]+ *$' "status shows it"
is "$(gi --xml volume status v shd | grep -c '<hostname>Self-heal Daemon</hostname>')" 1 "in XML"
like "$(gi volume status v shd mem)" '^Self-heal Daemon : [0-9a-f-]{36}$' "it tells its memory"
pid=$(shd_pid v)
kill -9 "$pid"
ok "it is started again when it dies" within 20 pid_is_new v "$pid"
pid=$(shd_pid v)
stop_glusterishd
ok "it outlives the management daemon" kill -0 "$pid"
start_glusterishd
ok "which finds it again" within 20 online v
is "$(shd_pid v)" "$pid" "the same one"
gi volume statedump v >/dev/null
has_dump() { compgen -G "$WORK/d/run/glusterdump.$1.dump.*"; }
ok "it writes state dumps" within 10 has_dump "$pid"
says 0 "Disable heal on volume v has been successful " gi volume heal v disable
ok "it goes when heal is disabled" within 20 not_running "$pid"
says 1 "Self-heal Daemon is disabled for volume v" gi volume status v shd
says 1 $'Launching heal operation to perform full self heal on volume v has been unsuccessful:\nSelf-heal-daemon is disabled. Heal will not be triggered on volume v' gi volume heal v full
says 1 $'Gathering crawl statistics on volume v has been unsuccessful:\nSelf-heal-daemon is disabled. Heal will not be triggered on volume v' gi volume heal v statistics
nok "no row of it is left" grep -q Self-heal <<<"$(gi volume status v)"

# ---- info ----
empty() { printf 'Brick %s:%s/%s\nStatus: Connected\nNumber of entries: 0\n\n' "$HOST" "$B" "$1"; }
says 0 "$(empty v-1; empty v-2; empty v-3)" gi volume heal v info
must "the volume is mounted" mount_volume v "$M"
mkdir "$M/dir"
echo one >"$M/file"
ln "$M/file" "$M/dir/link"
kill -9 "$(brick_pid v "$B/v-3")"
echo two >>"$M/file"
chmod 600 "$M/dir"
echo evil >"$M/dir/"$'Status: x\nNumber of entries: 0'
entries=$(gi volume heal v info | sed -n "1,/^\$/p")
like "$entries" '^/file $|^/dir/link $' "a changed file is listed"
like "$entries" '^/dir $' "and a directory"
like "$entries" '^/dir/Status: x\\x0aNumber of entries: 0 $' "a name cannot forge lines"
is "$(tail -n 1 <<<"$entries")" "Number of entries: 3" "they are counted"
like "$(gi volume heal v info)" '^Status: Transport endpoint is not connected$' "the brick that is away is named"
like "$(gi volume heal v info)" '^Number of entries: -$' "without a number"
summary=$(gi volume heal v info summary)
is "$(sed -n 2,6p <<<"$summary")" $'Status: Connected\nTotal Number of entries: 3\nNumber of entries in heal pending: 3\nNumber of entries in split-brain: 0\nNumber of entries possibly healing: 0' "info summary"
is "$(tail -n 1 <<<"$summary")" "Self-heal daemon: disabled" "tells of the daemon at the end"
like "$(gi volume heal v info split-brain)" '^Number of entries in split-brain: 0$' "info split-brain"
xml=$(gi --xml volume heal v info)
is "$(grep -c '<file gfid="[0-9a-f-]*">' <<<"$xml")" 6 "XML lists the entries of both bricks"
like "$xml" '<brick hostUuid="-">' "and the absent one"
is "$(tail -n 4 <<<"$xml")" $'  <opRet>0</opRet>\n  <opErrno>0</opErrno>\n  <opErrstr/>\n</cliOutput>' "its result comes last"
ok "JSON is JSON" python3 -c 'import json, sys
b = json.loads(sys.argv[1])["output"]["bricks"]
assert [len(x["entries"]) for x in b] == [3, 3, 0] and not b[2]["connected"], b' "$(gi --json volume heal v info)"

# ---- what is refused ----
says 11 $'One or more entries need heal. Please execute the command again after there are no entries to be healed\nVolume heal failed.' gi volume heal v granular-entry-heal enable
says 0 "Disable granular entry heal on volume v has been successful " gi volume heal v granular-entry-heal disable
says 1 $'<FILE> must be absolute path w.r.t. the volume, starting with \'/\'\nVolume heal failed.' gi volume heal v split-brain bigger-file file
says 22 $'Lookup failed on /nosuch:No such file or directory.\nVolume heal failed.' gi volume heal v split-brain bigger-file /nosuch
says 22 $'Lookup failed on /dir/../../etc:Invalid argument.\nVolume heal failed.' gi volume heal v split-brain latest-mtime /dir/../../etc
says 22 $'Lookup failed on gfid:xyz:Invalid argument.\nVolume heal failed.' gi volume heal v split-brain latest-mtime gfid:xyz
says 2 $'Lookup failed on gfid:00000000-0000-0000-0000-0000000000aa:No such file or directory.\nVolume heal failed.' gi volume heal v split-brain bigger-file gfid:00000000-0000-0000-0000-0000000000aa
says 1 $'\'bigger-file\' not a valid option for directories.\nVolume heal failed.' gi volume heal v split-brain bigger-file /dir
says 1 $'"h:/nosuch"- No such brick available in the volume.\nVolume heal failed.' gi volume heal v split-brain source-brick h:/nosuch /file
says 1 $'"h:/nosuch"- No such brick available in the volume.\nStatus: Operation not permitted\nNumber of healed entries: -\n\nVolume heal failed.' gi volume heal v split-brain source-brick h:/nosuch
like "$(gi volume heal v split-brain source-brick nobrick /file 2>&1)" '^Wrong brick type: nobrick, use <HOSTNAME>:<export-dir-abs-path>$' "a brick needs a host and a path"
like "$(gi volume heal v split-brain smaller-file /file 2>&1)" '^volume heal <VOLNAME> \[enable' "an unknown policy is a usage error"
nok "a path of megabytes" gi volume heal v split-brain bigger-file "/$(head -c 100000 /dev/zero | tr '\0' x)"
nok "a path of nothing but slashes and dots" gi volume heal v split-brain bigger-file ////.//..
nok "a volume name with a slash" gi volume heal ../v info
kill -9 "$(brick_pid v "$B/v-1")"
says 1 $'Status: Transport endpoint is not connected\nNumber of healed entries: -\n\nVolume heal failed.' gi volume heal v split-brain source-brick "$HOST:$B/v-1"
like "$(gi volume heal v info)" '^Number of entries: 3$' "one brick is enough to tell what it knows"

# ---- the daemon is told ----
says 0 "Enable heal on volume v has been successful " gi volume heal v enable
ok "the self-heal daemon is back" within 20 online v
says 1 $'Launching heal operation to perform index self heal on volume v has been unsuccessful:\nGlusterd Syncop Mgmt brick op \'Heal\' failed. Please check glustershd log file for details.' gi volume heal v
like "$(gi volume heal v statistics)" '^Crawl statistics for brick no 2$' "statistics of every brick"
like "$(gi volume heal v statistics heal-count replica "$HOST:$B/v-2")" '^Gathering count of entries to be healed per replica on volume v has been successful $' "heal-count of a replica set"
says 1 $'Gathering count of entries to be healed per replica on volume v has been unsuccessful:\nNo brick h:/b in volume v' gi volume heal v statistics heal-count replica h:/b
like "$(tail -n 1 "$WORK/d/log/cmd_history.log")" 'volume heal v enable : SUCCESS|volume heal v : FAILED' "changes are in the history"

# ---- the end ----
pid=$(shd_pid v)
ok "the volume stops" gi volume stop v
ok "with its self-heal daemon" within 20 not_running "$pid"
ok "and leaves no pid file" within 5 no_shd v
says 1 "Connection failed. Please check if gluster daemon is operational." "$GLUSTERISH" --glusterd-sock=/nonexistent volume heal v
nok "no daemon, no answer" "$GLUSTERISH" --glusterd-sock=/nonexistent volume heal v info
done_testing
