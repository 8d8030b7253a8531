#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The tree .meta of a mount has the names, and says the same, as that of GlusterFS's mount of the same volfile.
. "$(dirname "$0")/../functional/lib.sh"
. "$(dirname "$0")/bricks.sh"
require_glusterfs
must "bricks start" interop_begin real
cat >"$WORK/one.vol" <<X
volume v-client-0
    type protocol/client
    option remote-host $HOST
    option remote-port $((BASE_PORT + 1))
    option remote-subvolume $(brick_top 1)
    option transport-type tcp
    option transport.address-family inet
    option ping-timeout 5
end-volume
volume v-md-cache
    type performance/md-cache
    option md-cache-timeout 7
    subvolumes v-client-0
end-volume
volume v
    type debug/io-stats
    option latency-measurement on
    option count-fop-hits on
    subvolumes v-md-cache
end-volume
X
for who in real ours; do
  program=$GLUSTERISHFS
  [ $who = real ] && program=glusterfs
  mkdir "$WORK/$who"
  MOUNTS+=("$WORK/$who")
  must "$who mounts" "$program" -f "$WORK/one.vol" -l "$WORK/$who.log" -p "$WORK/$who.pid" "$WORK/$who"
  must "$who serves" within 20 stat -t "$WORK/$who"
  stat "$WORK/$who/none" >/dev/null 2>&1
done

# names MOUNT: of everything but the directories that show a volume through a layer, which we do not have, and what its handshake adds to the
# options of a connection; the graph's own name differs, and so do options of the mount.
names() {
  (cd "$1/.meta" && find . -name view -prune -o -path './root/options/*' -prune -o -printf '%P\n' |
    grep -vE '/options/(client-version|clnt-lk-version|fops-version|opversion|process-uuid)$' |
    sed -E 's,graphs/[^/]+ \+0000,graphs/ID,' | sort)
}
is "$(comm -23 <(names "$WORK/real") <(names "$WORK/ours"))" "" "we have all names of GlusterFS"
# says PATH [SED...]: both say the same, as far as the patterns leave it.
says() {
  local path=$1
  shift
  is "$(sed -E "$@" "$WORK/ours/.meta/$path")" "$(sed -E "$@" "$WORK/real/.meta/$path")" "$path says the same"
}
G=graphs/active
for path in $G/v/type $G/v/name $G/v-md-cache/options/md-cache-timeout $G/v-client-0/options/ping-timeout logging/loglevel measure_latency root/type; do
  says "$path" -e ''
done
for path in $G $G/top $G/v/subvolumes/0 $G/v-md-cache/subvolumes/0; do
  is "$(readlink "$WORK/ours/.meta/$path" | sed -E 's,^[^/]*-[0-9]+-[0-9:.-]+ ,ID ,')" \
    "$(readlink "$WORK/real/.meta/$path" | sed -E 's,^[^/]*-[0-9]+-[0-9:.-]+ ,ID ,')" "$path leads to the same"
done
says $G/v/profile -n -e 's/(AVG|CNT|TOTAL|MIN|MAX):[0-9.]+/\1/g' -e '/latency\]|LOOKUP/p'
says version -e 's/"[0-9.]+[^"]*"/V/'
says process_uuid -e 's/[0-9a-f]{4}/h/g'
is "$(readlink "$WORK/ours/.meta/logging/logfile")" "$WORK/ours.log" "the link of the log leads to it"
is "$(stat -c '%F %U %s %h' "$WORK/ours/.meta" "$WORK/ours/.meta/version" "$WORK/ours/.meta/logging")" \
  "$(stat -c '%F %U %s %h' "$WORK/real/.meta" "$WORK/real/.meta/version" "$WORK/real/.meta/logging")" "kinds, owners, sizes and links are the same"
done_testing
