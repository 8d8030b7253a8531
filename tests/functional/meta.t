#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The virtual directories of a mount: that programs can walk, read and copy them, that they are root's alone, that nothing in them changes,
# the access log, and an entry of the volume with such a name.
. "$(dirname "$0")/lib.sh"
require_root
require_fuse
must "the management daemon starts" start_glusterishd
must "a volume is there" start_volume v 1
must "it is mounted" mount_volume v "$WORK/a"
must "and again without" mount_volume v "$WORK/plain" --meta=off
must "and with access control lists" mount_volume v "$WORK/acl" --acl
chmod 755 "$WORK" "$WORK/a"
A=$WORK/a
P=$A/.glusterish
M=$A/.meta

is "$(ls -A "$A")" "" "they are not listed"
like "$(cat "$M/version")" '"Package Version": "' "the version is there"
is "$(cat "$M/graphs/active/meta-autoload/type")" "features/meta" "so are layers"
is "$(cat "$M/graphs/active/v-client-0/options/remote-subvolume")" "$WORK/bricks/v-1" "and options"
is "$(cat "$M/graphs/active/top/subvolumes/0/name")" "v" "links lead to layers"
is "$(cat "$M/root/type")" "mount/fuse" "the mount is apart"
is "$(cat "$M/root/options/mountpoint")" "$A" "and like a layer"
ok "find goes through all" find "$M" "$P" -ls
ok "all files can be read" find "$M" "$P" -type f -exec cat {} +
ok "and copied" cp -r "$M" "$P" "$WORK/"
is "$(diff <(cd "$WORK/.meta" && find . | sort) <(cd "$M" && find . | sort))" "" "the copy has the same names"
is "$(find -L "$M/graphs/active/" "$M/graphs/active/v/subvolumes/" -maxdepth 1 -type l 2>/dev/null)" "" "no link leads nowhere"
is "$(find "$M" "$P" -printf '%i\n' | sort | uniq -d)" "" "no two have one number"
ok "the room is the volume's" test "$(stat -f -c %b "$M")" = "$(stat -f -c %b "$A")"
command -v getfattr >/dev/null && is "$(getfattr -d -m - --absolute-names "$M" 2>&1)" "" "there are no attributes"

like "$(head -c 100 "$P/metrics")" '^# (TYPE|HELP|UNIT) glusterish' "metrics are there"
for document in graph process errors options; do ok "$document is JSON" python3 -m json.tool "$P/$document"; done
for document in frames version cmdline; do ok "$document is JSON" python3 -m json.tool "$M/$document"; done
nok "something is looked for" stat "$A/none"
like "$(cat "$M/graphs/active/v-client-0/profile")" '^v-client-0.latency.LOOKUP = AVG:[0-9.]+ CNT:[0-9]+ TOTAL:[0-9]+ MIN:[0-9]+ MAX:[0-9]+' "latencies are there"
is "$(python3 -c 'import json, sys; print(json.load(sys.stdin)["mountpoint"])' <"$P/process")" "$A" "of this process"

as_user() { setpriv --reuid 71000 --regid 71000 --clear-groups "$@"; }
for m in "$A" "$WORK/acl"; do
  nok "others do not list them on ${m##*/}" as_user ls "$m/.meta"
  nok "nor read" as_user cat "$m/.glusterish/options"
done
nok "no file is made" touch "$M/x"
nok "none is removed" rm -f "$M/version"
nok "none is written" sh -c 'echo 1 >"$1"' - "$M/version"
nok "none is moved" mv "$M/version" "$A/version"
nok "none is linked" ln "$M/version" "$A/version"
nok "nor the directories" rmdir "$M"
nok "no mode is changed" chmod 777 "$P"
ok "the log's level is written" sh -c 'echo 8 >"$1"' - "$M/logging/loglevel"
is "$(cat "$M/logging/loglevel")" 8 "and read"

cat "$P/accesslog" >"$WORK/accesslog" &
reader=$!
logged() { touch "$A/f" && grep -Eq '^[0-9.]{10} [0-9:.]{15} \[uid:0,gid:0,pid:[0-9]+\] create \(1,f,.*: OK \([0-9]+\) <[0-9.]+>$' "$WORK/accesslog"; }
again() { rm -f "$A/f" && logged; }
ok "the access log has the operations" within 10 again
is "$(grep -cvE '^([0-9.]{10} [0-9:.]{15} \[.*\] [a-z]+ \(.*\): .* <[0-9]+\.[0-9]{6}>|# .*)$' "$WORK/accesslog")" 0 "one line each"
kill "$reader"
ok "a reader that waits can be interrupted" within 10 not_running "$reader"

# Reads the log only after more was done than it has room for: what is missing is counted, and what is there is in order.
slow_reader() {
  python3 - "$A" <<'P'
import errno, os, re, sys
mount = sys.argv[1]
private = mount + "/.meta/graphs/active/meta-autoload/private"
def made():
    return int(re.search(r"^log_lines = (\d+)$", open(private).read(), re.M).group(1))
def drain():
    out = b""
    while True:
        try:
            out += os.read(log, 1 << 20)
        except BlockingIOError:
            return out
least = made()
log = os.open(mount + "/.glusterish/accesslog", os.O_RDONLY | os.O_NONBLOCK)
most = made()
for i in range(6000):
    try:
        os.stat("%s/%04d%s" % (mount, i, "x" * 200))
    except FileNotFoundError:
        pass
text = drain()
try:
    os.stat(mount + "/last")
except FileNotFoundError:
    pass
end = made()
text += drain()
last = made()
lines = text.decode().split("\n")[:-1]
lost = sum(int(l.split()[1]) for l in lines if l.startswith("#"))
names = [int(n) for n in re.findall(r" lookup \(1,(\d{4})x+\): ENOENT <", text.decode())]
kept = sum(not l.startswith("#") for l in lines)
if lost == 0 or names != list(range(len(names))) or len(names) < 1000:
    sys.exit("lost %d, of %d names the last is %d" % (lost, len(names), names[-1]))
if not end - most <= kept + lost <= last - least:
    sys.exit("%d lines and %d lost of %d to %d" % (kept, lost, end - most, last - least))
P
}
ok "who reads too slowly is told what is missing" slow_reader

# Layers come and go under whoever walks: what is gone is gone, nothing more.
walk() { until [ -e "$WORK/stop" ]; do find "$M" "$P" -type f -exec cat {} + >/dev/null 2>&1; done; }
has_layer() { [ -e "$M/graphs/active/v-$1" ]; }
lacks_layer() { ! has_layer "$1"; }
walk &
walker=$!
for state in off on off on; do
  gi volume set v performance.stat-prefetch $state >/dev/null
  gi volume set v performance.nl-cache $state >/dev/null
  if [ $state = on ]; then
    ok "nl-cache comes" within 10 has_layer nl-cache
  else
    ok "nl-cache leaves" within 10 lacks_layer nl-cache
  fi
done
touch "$WORK/stop"
ok "the walk ends" within 10 not_running "$walker"
wait "$walker"

ok "an entry of the volume gets such a name" mkdir "$WORK/plain/.glusterish"
echo mine >"$WORK/plain/.glusterish/options"
is "$(ls -A "$A")" "$(printf '%s\n' .glusterish f)" "it is listed"
like "$(cat "$P/options")" '"layer"' "the name leads to the virtual one"
is "$(cat "$WORK/plain/.glusterish/options")" mine "which does not touch it"
ok "the log says so" grep -q "cannot be reached on this mount" "$WORK/mount-a.log"
cd "$M" || exit 1 # the root itself is the bricks'
gi volume stop v >/dev/null
is "$(cat graphs/active/v/name)" v "they are there without a brick"
cd / || exit 1
done_testing
