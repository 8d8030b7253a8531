# SPDX-License-Identifier: Apache-2.0
# What the benchmarks of files share: the systems that are compared, rounds that alternate between them, medians and ratios. A benchmark
# says what it takes (declare -A opt=([key]=default …)) and which programs it needs (packages=(…)), then
#
#   . "$top/tests/bench/systems.sh"
#   bench_begin "$@"                  --rounds N, --systems "…", --json FILE and --KEY VALUE of its own
#   measure() { … }                   works in $at, prints one JSON object of numbers
#   count() { … }                     optional: the same work, less of it, between counts_begin and counts_end (bench_counted)
#   bench_run                         the rounds, then the table and the file
#
# Names of numbers end in what they are: _s and _us are better when small, _iops and _mib_s when large. A ratio is how many times worse
# than local a system is.
#
# Systems: local (a directory beside the bricks), standbys (there, too; only pgbench makes a difference), default and writeback (our mount, as it is and with kernel-writeback-cache), gluster,
# gluster-tuned and gluster-writeback (the packaged one, as it is, as people set it for one client, and with kernel-writeback-cache); nodes and
# gluster-nodes (both as they are, over three nodes of a slow network: nodes.sh).
#
# Root only. GLUSTERISH_BENCH_DIR is where everything lives; with GLUSTERISH_BENCH_SBIN the programs there are used and nothing is built.
# shellcheck shell=bash

. "$top/extras/lib.sh"
. "$top/extras/volume.sh"
. "$top/tests/bench/counts.sh"

rounds=3 json='' systems="local default writeback" tool=$(basename "$0") at='' client='' bricks='' command="tests/bench/$(basename "$0")${*:+ $*}"
command -v glusterd >/dev/null && systems+=" gluster gluster-tuned"

bench_begin() {
  local key
  while [ $# -gt 0 ]; do
    key=${1#--}
    [ $# -ge 2 ] || bench_usage
    case $key in
    rounds) rounds=$2 ;;
    systems) systems=$2 ;;
    json) json=$2 ;;
    *) [ -n "${opt[$key]+is there}" ] && [ "--$key" = "$1" ] || bench_usage
      opt[$key]=$2 ;;
    esac
    shift 2
  done
  [ "$(id -u)" = 0 ] || die "mounting needs root"
  dir=${GLUSTERISH_BENCH_DIR:-/var/tmp/glusterish-bench-files}
  port=24807 volume=bench mnt=$dir/mnt sbin=${GLUSTERISH_BENCH_SBIN:-$dir/install/sbin}
  gdir=$dir/gluster gport=24007
  mkdir -p "$dir"/{log,run,local} "$mnt"
  install_packages "${packages[@]}" jq
  if [ -z "${GLUSTERISH_BENCH_SBIN:-}" ]; then
    install_packages "${build_packages[@]}"
    say "building"
    build_tree "$dir/build" --prefix="$dir/install" --with-mounthelperdir="$dir/install/sbin" --sysconfdir="$dir/etc" --localstatedir="$dir/var"
    make -s -C "$dir/build" install >"$dir/log/install.log" 2>&1 || die "make install failed"
  fi
  . "$top/tests/bench/gluster.sh"
  . "$top/tests/bench/nodes.sh"
  export GLUSTERISH_STATEDUMP_DIR=$dir/run/dumps
  mkdir -p "$GLUSTERISH_STATEDUMP_DIR"
  at_end bench_end
}

# The comment at the head of the benchmark is its help.
bench_usage() {
  sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0" >&2
  exit 2
}

bench_end() {
  local pid
  system_unmount
  installation_down
  gluster_down bench
  slow_nodes_down
  # One of its processes that was being started meanwhile.
  for pid in $(pgrep -f "^[^ ]*gluster[^ ]* .*$gdir/"); do kill "$pid" 2>/dev/null; done
  rm -rf --one-file-system "$gdir"
}

# ---- systems ----

gluster_tuning=(performance.quick-read=off performance.md-cache-timeout=600 performance.write-behind-window-size=20MB
  performance.client-io-threads=on client.event-threads=4 performance.global-cache-invalidation=off)

gluster_tune() { # on | off
  local o
  for o in "${gluster_tuning[@]}"; do
    if [ "$1" = on ]; then gg volume set bench "${o%%=*}" "${o#*=}"; else gg volume reset bench "${o%%=*}"; fi >/dev/null || return 1
  done
}

system_mount() {
  case $1 in
  default) daemon_up && volume_up && volume_mount "$mnt" ;;
  writeback) daemon_up && volume_up && volume_mount "$mnt" kernel-writeback-cache=yes ;;
  gluster) gluster_up bench && gluster_tune off && gluster_mount ;;
  gluster-tuned) gluster_up bench && gluster_tune on && gluster_mount ;;
  gluster-writeback) gluster_up bench && gluster_tune off && gluster_mount kernel-writeback-cache=yes ;;
  nodes) slow_pool_up && node_mount 1 "$(node_address 1):/$volume" ;;
  gluster-nodes) gluster_pool_up && at 1 mount -t glusterfs "$(node_address 1):/bench" "$mnt" ;;
  *) die "unknown system $1" ;;
  esac
}

gluster_mount() { mount -t glusterfs -o "server-port=$gport${1:+,$1}" 127.1.1.1:/bench "$mnt"; }

system_unmount() { ! mountpoint -q "$mnt" || umount "$mnt" || umount -l "$mnt"; }

on_disk() { [[ $1 =~ ^(local|standbys)$ ]]; }
ours() { [[ $1 =~ ^(default|writeback|nodes)$ ]]; }

# Each directory of work lies somewhere else on the disk than those before it, where the file system can do that (ext4). Without a journal,
# an ext4 that makes a file looks at all inodes that were freed nearby in the last minutes: who comes second would pay for what the first one has removed.
system_apart() { chattr +T "$dir/local" "$dir"/bricks/* "$gdir"/bricks/* 2>/dev/null || true; }

# Sets $at, an empty directory on the system; of ours $client and $bricks, the processes.
system_begin() {
  at=$dir/local/work client='' bricks=''
  if ! on_disk "$1"; then
    system_mount "$1" || return 1
    at=$mnt/work
  fi
  system_apart
  if ours "$1"; then
    client=$(pgrep -f "glusterishfs .*$mnt" | head -n 1)
    bricks=$(pgrep -f "glusterishfs .*--brick-name $dir/bricks/" | paste -sd' ')
  fi
  rm -rf --one-file-system "$at" && mkdir "$at"
}

# Nothing of it is in memory any more.
system_cold() {
  sync
  on_disk "$1" || system_unmount
  echo 3 >/proc/sys/vm/drop_caches
  on_disk "$1" || system_mount "$1"
}

system_end() {
  rm -rf --one-file-system "$at"
  on_disk "$1" || system_unmount
}

# "user system": what the processes of a system have used so far, in ticks; of one that has gone nothing is known.
system_ticks() { # SYSTEM
  local where="$dir/(bricks|etc|var)"
  ours "$1" || where=$gdir
  pgrep -f "^[^ ]*gluster[^ ]* .*($where/|$mnt)" | sed 's|.*|/proc/&/stat|' | xargs -r cat 2>/dev/null |
    awk '{sub(/.*\) /, ""); u += $12; s += $13} END {print u + 0, s + 0}'
}

# What COMMAND… costs those processes is added to $user and $system, which are the caller's.
with_ticks() { # SYSTEM COMMAND…
  local before after err=0
  [ "$1" != local ] || { shift && "$@"; return; }
  before=$(system_ticks "$1")
  "${@:2}" || err=$?
  after=$(system_ticks "$1")
  user=$((user + ${after% *} - ${before% *})) system=$((system + ${after#* } - ${before#* }))
  return $err
}

# {"cpu_user_s": …, "cpu_system_s": …} of them; nothing where nothing was counted.
ticks_json() {
  awk -v u="$user" -v s="$system" -v hz="$(getconf CLK_TCK)" \
    'BEGIN {if (u + s) printf "{\"cpu_user_s\": %.2f, \"cpu_system_s\": %.2f}\n", u / hz, s / hz; else print "{}"}'
}

# The client's counters since it was mounted, as counts_client has them.
counts_totals() { counts_client=$client counts_dumps=$GLUSTERISH_STATEDUMP_DIR && counts_client; }

# bench_counted OPERATIONS COMMAND…: prints what it cost, null if it is not ours.
bench_counted() {
  local n=$1
  shift
  if [ -z "$client" ]; then
    "$@" >/dev/null && echo null
    return
  fi
  counts_begin "$mnt" "$client" "$bricks" "$GLUSTERISH_STATEDUMP_DIR" || return 1
  "$@" >/dev/null || return 1
  counts_end "$n"
}

# ---- rounds ----

seconds_of() { # COMMAND…: prints how long it took
  local t0
  t0=$(date +%s.%N)
  "$@" >"$dir/run/step.log" 2>&1 || { cat "$dir/run/step.log" >&2; return 1; }
  date +%s.%N | awk -v t0="$t0" '{printf "%.3f\n", $1 - t0}'
}

machine() {
  jq -cn --arg cpu "$(awk -F': ' '/^model name/ {print $2; exit}' /proc/cpuinfo)" --argjson cpus "$(nproc)" \
    --argjson mib "$(awk '/^MemTotal/ {print int($2 / 1024)}' /proc/meminfo)" --arg kernel "$(uname -r)" \
    --arg fs "$(findmnt -no FSTYPE -T "$dir")" --arg load "$(cut -d' ' -f1 /proc/loadavg)" --arg date "$(date -u +%F)" \
    --arg gluster "$(glusterfs --version 2>/dev/null | awk 'NR == 1 {print $2}')" \
    --arg commit "$(git -C "$top" describe --always --dirty 2>/dev/null)" \
    '{cpu: $cpu, cpus: $cpus, memory_mib: $mib, kernel: $kernel, filesystem: $fs, load: $load, date: $date, glusterfs: $gluster, commit: $commit}'
}

one_round() { # SYSTEM NUMBER
  local out
  if system_begin "$1" && out=$(measure "$1") && jq -e 'type == "object"' <<<"$out" >/dev/null; then
    say "round $2 $1: $(jq -c . <<<"$out")"
    jq -c --arg s "$1" --argjson r "$2" '{system: $s, round: $r} + .' <<<"$out" >>"$results"
  else
    say "round $2 $1: failed"
    jq -cn --arg s "$1" --argjson r "$2" '{system: $s, round: $r, failed: true}' >>"$results"
  fi
  system_end "$1"
}

one_count() { # SYSTEM
  local out
  if system_begin "$1" && out=$(count "$1") && jq -e 'type == "object"' <<<"$out" >/dev/null; then
    jq -c --arg s "$1" '{($s): .}' <<<"$out" >>"$counted"
  else
    say "counting $1: failed"
  fi
  system_end "$1"
}

bench_run() {
  local round system summary facts
  results=$dir/run/$tool.jsonl counted=$dir/run/$tool.counts.jsonl
  : >"$results" && : >"$counted"
  facts=$(machine)
  for ((round = 1; round <= rounds; round++)); do
    for system in $systems; do one_round "$system" "$round"; done
  done
  for system in $systems; do
    if declare -F count >/dev/null && ours "$system"; then one_count "$system"; fi
  done
  summary=$(jq -s --arg tool "$tool" --arg command "$command" --argjson machine "$facts" --slurpfile counts "$counted" '
    def median: sort | if length == 0 then null else .[(length - 1) / 2 | floor] end;
    def worse($k; $local): if . == null or $local == null or . == 0 or $local == 0 then null
      elif $k | test("(?<!mib)_(s|us)$") then . / $local else $local / . end;
    . as $rows | (map(select(.failed | not)) | group_by(.system) | map({key: .[0].system, value: (map(del(.system, .round)) as $m |
      reduce ($m[0] | keys_unsorted[]) as $k ({}; .[$k] = ($m | map(.[$k] | numbers) | median)))}) | from_entries) as $median |
    {tool: $tool, command: $command, machine: $machine, median: $median,
     ratio: ($median | with_entries(.value |= with_entries(.key as $k | .value |= worse($k; $median.local[$k] // null)))),
     runs: ($rows | map(select(.failed | not)) | group_by(.system) | map({key: .[0].system, value: length}) | from_entries),
     failed: ($rows | map(select(.failed)) | length), counts: ($counts | add // {}), rounds: $rows}' "$results") || die "no results"
  [ -z "$json" ] || printf '%s\n' "$summary" >"$json"
  jq -r --arg order "$systems" '. as $t | ($order | split(" ") | map(select($t.median[.]))) as $systems | [.median[] | keys_unsorted[]] | reduce .[] as $k ([]; if index($k) then . else . + [$k] end) |
    (["", $systems[]], (.[] as $k | [$k, ($systems[] | "\($t.median[.][$k] // "-")\($t.ratio[.][$k] | if . then " (\(. * 100 | round / 100))" else "" end)")])) | @tsv' \
    <<<"$summary" | column -t -s $'\t'
  [ "$(jq .failed <<<"$summary")" = 0 ]
}
