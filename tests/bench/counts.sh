# SPDX-License-Identifier: Apache-2.0
# What a stretch of work costs, in numbers that do not depend on how busy the machine is. Source it, then
#
#   counts_begin MOUNT-POINT CLIENT-PID "BRICK-PIDS" DUMPS     the work begins; DUMPS: where the client writes its state dumps
#   counts_end OPERATIONS                                      it has ended: one JSON object
#
#   {"fuse": {"WRITE": 100, …},          requests of the kernel by kind; null where they cannot be traced
#    "fuse_requests": 103,               all of them, by the client's own count
#    "messages": 147,                    calls to the brick that got most of them
#    "recv_per_message": 0.99, "copied_share": 0,
#    "switches": 512,                    context switches of client and bricks
#    "cpu_us": [310, 95, 97, 94],        processor time of the client and of each brick
#    "system_calls": 2310}               of both; null where perf cannot count them
#
# all divided by OPERATIONS but for the ratios. COUNTS_CALLS=no leaves the last one out. Root only; needs jq, and wait_for SECONDS COMMAND….
# shellcheck shell=bash

counts_mnt='' counts_client='' counts_pids='' counts_dumps='' counts_dir='' counts_trace='' counts_reader='' counts_perf=''

# The counters of $counts_client: "requests messages recv_calls records payload copied", messages of the brick that got most; payload: bytes
# that came from bricks or, by WRITE, from the kernel.
counts_client() {
  local f
  rm -f "$counts_dumps"/glusterdump."$counts_client".*
  kill -USR1 "$counts_client" || return 1
  wait_for 5 counts_dumped || return 1
  f=$(compgen -G "$counts_dumps/glusterdump.$counts_client.*" | head -n 1)
  awk -F= '/^\[/ {section = $0} section == "[global]" {g[$1] = $2} section ~ /^\[mount\/fuse\./ {b[$1] = $2}
    section ~ /^\[protocol\/client\./ && $1 == "calls" && $2 > calls {calls = $2}
    END {print b["requests"] + 0, calls + 0, g["recv_calls"] + 0, g["messages"] + 0, g["payload_bytes"] + b["write_bytes"], g["payload_bytes_copied"] + 0}' "$f"
}

# The dump is whole when its last line is there.
counts_dumped() { grep -qs '^DUMP-END-TIME' "${2:-$counts_dumps}"/glusterdump."${1:-$counts_client}".*; }

# counts_sent CLIENT-PID DUMPS [all]: "KIND N" a line, what the client has sent to the brick that got most, or to all of them together.
counts_sent() {
  rm -f "$2/glusterdump.$1".*
  kill -USR1 "$1" && wait_for 5 counts_dumped "$1" "$2" || return 1
  awk -F= -v all="${3:-}" '/^\[/ {brick = all ? all : $0; counts = /^\[xlator.protocol.client/}
    counts && sub(/^sent\./, "", $1) {n[brick] += $2; kind[brick, $1] += $2}
    END {for (b in n) if (n[b] > most) {most = n[b]; best = b}
      for (k in kind) {split(k, part, SUBSEP); if (part[1] == best) print part[2], kind[k]}}' "$2/glusterdump.$1".*
}

counts_switches() {
  local p
  for p in $counts_pids; do cat /proc/"$p"/task/*/status; done 2>/dev/null | awk '/ctxt_switches:/ {n += $2} END {print n + 0}'
}

# Microseconds on a processor so far, of the client and of each brick: "N N …".
counts_cpu() {
  local p
  for p in $counts_pids; do cat /proc/"$p"/task/*/schedstat 2>/dev/null | awk '{n += $1} END {printf "%d ", n / 1000}'; done
}

# Follows the kernel's requests to this mount in a trace buffer of its own.
counts_follow() {
  local connection
  connection=$(stat -c %d "$counts_mnt")
  mkdir "$counts_dir/tracefs" && mount -t tracefs tracefs "$counts_dir/tracefs" 2>/dev/null || return 1
  counts_trace=$counts_dir/tracefs/instances/glusterish-$$
  mkdir "$counts_trace" 2>/dev/null && [ -e "$counts_trace/events/fuse/fuse_request_send/filter" ] || return 1
  echo 4096 >"$counts_trace/buffer_size_kb"
  echo "connection == $connection" >"$counts_trace/events/fuse/fuse_request_send/filter" || return 1
  cat "$counts_trace/trace_pipe" >"$counts_dir/requests" 2>/dev/null &
  counts_reader=$!
  echo 1 >"$counts_trace/events/fuse/fuse_request_send/enable"
}

counts_unfollow() {
  if [ -n "$counts_reader" ]; then
    echo 0 >"$counts_trace/events/fuse/fuse_request_send/enable"
    sleep 0.2 # the reader takes what is left
    kill "$counts_reader" 2>/dev/null
    counts_reader=
  fi
  [ -z "$counts_trace" ] || wait_for 2 rmdir "$counts_trace" # once the reader has gone
  counts_trace=
  ! mountpoint -q "$counts_dir/tracefs" || umount "$counts_dir/tracefs"
}

counts_begin() {
  counts_mnt=$1 counts_client=$2 counts_pids="$2 $3" counts_dumps=$4
  counts_dir=$(mktemp -d) || return 1
  counts_client >"$counts_dir/before" || return 1
  counts_follow || counts_unfollow
  counts_perf=
  if [ "${COUNTS_CALLS:-yes}" = yes ] && command -v perf >/dev/null && perf stat -e raw_syscalls:sys_enter true >/dev/null 2>&1; then
    perf stat -x, -e raw_syscalls:sys_enter -p "${counts_pids// /,}" -o "$counts_dir/perf" >/dev/null 2>&1 &
    counts_perf=$!
    sleep 0.3
  fi
  counts_cpu >"$counts_dir/cpu"
  counts_switches >"$counts_dir/switches"
}

counts_end() {
  local switches cpu after before kinds=null calls=null
  switches=$(($(counts_switches) - $(cat "$counts_dir/switches")))
  cpu="$(cat "$counts_dir/cpu");$(counts_cpu)"
  if [ -n "$counts_perf" ]; then
    kill -INT "$counts_perf" && wait_for 5 grep -q sys_enter "$counts_dir/perf" # perhaps from a subshell, which cannot wait for it
    calls=$(awk -F, '/sys_enter/ {print $1 + 0}' "$counts_dir/perf")
  fi
  if [ -n "$counts_reader" ]; then
    counts_unfollow
    kinds=$(sed -n 's/.*opcode [0-9]* (FUSE_\([A-Z0-9_]*\)).*/\1/p' "$counts_dir/requests" | sort | uniq -c |
      jq -Rn '[inputs | capture("(?<n>[0-9]+) (?<k>.*)") | {(.k): (.n | tonumber)}] | add // {}')
  fi
  before=$(cat "$counts_dir/before") after=$(counts_client) || return 1
  jq -cn --argjson kinds "$kinds" --arg before "$before" --arg after "$after" --arg cpu "$cpu" --argjson switches "$switches" --argjson calls "${calls:-null}" \
    --argjson n "$1" 'def per: . / $n * 1000 | round / 1000;
    ([$after, $before] | map(split(" ") | map(tonumber)) | transpose | map(.[0] - .[1])) as $d |
    {fuse: (if $kinds then $kinds | map_values(per) else null end), fuse_requests: ($d[0] | per), messages: ($d[1] | per),
     recv_per_message: (if $d[3] > 0 then $d[2] / $d[3] * 100 | round / 100 else null end),
     copied_share: (if $d[4] > 0 then $d[5] / $d[4] * 1000 | round / 1000 else 0 end),
     cpu_us: ($cpu | split(";") | map([splits(" +") | select(. != "") | tonumber]) | transpose | map(.[1] - .[0] | . / $n | round)),
     switches: ($switches | per), system_calls: (if $calls then $calls | per else null end)}'
  rm -rf --one-file-system "$counts_dir"
}
