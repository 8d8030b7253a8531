# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What functional tests share: TAP output, a management daemon of their own with its own directory, ports and socket, and a
# cleanup that leaves nothing behind. Source it from bash:
#
#   . "$(dirname "$0")/lib.sh"
#   plan 3                       # or done_testing at the end
#   start_glusterishd            # sets WORK, HOST, PORT, SOCK
#   ok "a volume is created" gi volume create v "$HOST:$WORK/b1" force
#   is "$(gi volume list)" "v" "it is listed"
#
# Environment from the build: GLUSTERISH_SRCDIR, GLUSTERISH_BUILDDIR, GLUSTERISH_XLATOR_DIR. Outside of it (installed
# programs) set GLUSTERISHD, GLUSTERISH and GLUSTERISHFS.

: "${GLUSTERISH_BUILDDIR:=$PWD}" "${GLUSTERISH_SRCDIR:=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}"
: "${GLUSTERISH_XLATOR_DIR:=$GLUSTERISH_BUILDDIR/xlators}"
: "${GLUSTERISHD:=$GLUSTERISH_BUILDDIR/programs/glusterishd/glusterishd}"
: "${GLUSTERISH:=$GLUSTERISH_BUILDDIR/programs/glusterish/glusterish}"
: "${GLUSTERISHFS:=$GLUSTERISH_BUILDDIR/programs/glusterishfs/glusterishfs}"
export GLUSTERISH_XLATOR_DIR GLUSTERISHFS

HOST=${HOST:-127.1.1.1} # an address of this machine that no other daemon is bound to
WORK=                   # everything of this test lives here
PORT= SOCK= DAEMON_PID=
PORTS_LOCK= PORTS_FD= # of pick_ports
TEST_N=0 TEST_FAILED=0 TEST_PLANNED=
MOUNTS=() OUTPUT=

# ---- TAP ----

plan() {
  TEST_PLANNED=$1
  echo "1..$1"
}

done_testing() {
  TEST_PLANNED=$TEST_N
  echo "1..$TEST_N"
}

skip_all() {
  echo "1..0 # SKIP $*"
  TEST_PLANNED=0
  exit 0
}

note() { printf '%s\n' "$*" | sed 's/^/# /'; }

pass() {
  TEST_N=$((TEST_N + 1))
  echo "ok $TEST_N - $1"
}

fail() {
  TEST_N=$((TEST_N + 1))
  TEST_FAILED=$((TEST_FAILED + 1))
  echo "not ok $TEST_N - $1"
  shift
  for line in "$@"; do note "$line"; done
}

# Runs a command in this shell (so that functions can set variables); its output is in $OUTPUT, its status returned.
run() {
  local file status
  file=$(mktemp)
  "$@" >"$file" 2>&1
  status=$?
  OUTPUT=$(cat "$file")
  rm -f "$file"
  return $status
}

# ok NAME COMMAND...: the command succeeds.
ok() {
  local name=$1 status
  shift
  run "$@"
  status=$?
  if [ $status = 0 ]; then pass "$name"; else fail "$name" "command: $*" "status: $status" "$OUTPUT"; fi
}

# must NAME COMMAND...: like ok, but what follows makes no sense without it.
must() {
  local failed=$TEST_FAILED
  ok "$@"
  [ "$TEST_FAILED" -gt "$failed" ] || return 0
  echo "Bail out! $1"
  exit 1
}

# nok NAME COMMAND...: it fails.
nok() {
  local name=$1
  shift
  if run "$@"; then fail "$name" "command succeeded: $*" "$OUTPUT"; else pass "$name"; fi
}

# is GOT WANTED NAME
is() {
  if [ "$1" = "$2" ]; then pass "$3"; else fail "$3" "got:    $1" "wanted: $2"; fi
}

# like GOT EXTENDED-REGEX NAME
like() {
  if printf '%s\n' "$1" | grep -Eq -- "$2"; then pass "$3"; else fail "$3" "got:    $1" "wanted: /$2/"; fi
}

# within SECONDS COMMAND...: runs it until it succeeds, for that long at least: the clock of the shell counts whole seconds.
within() {
  local end=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    [ $SECONDS -gt $end ] && return 1
    sleep 0.1
  done
}

# advances SECONDS STATE COMMAND...: runs the command until it succeeds, as long as what the command STATE prints becomes something else at least that
# often; ten times as long at most.
advances() {
  local patience=$1 state=$2 now was='' since=$SECONDS end=$((SECONDS + 10 * $1))
  shift 2
  until "$@" >/dev/null 2>&1; do
    now=$($state 2>/dev/null)
    [ "$now" = "$was" ] || was=$now since=$SECONDS
    [ $((SECONDS - since)) -le "$patience" ] && [ $SECONDS -le $end ] || return 1
    sleep 0.5
  done
}

require_root() {
  [ "$(id -u)" = 0 ] || skip_all "needs root"
}

require_fuse() {
  [ -c /dev/fuse ] && [ -w /dev/fuse ] || skip_all "needs /dev/fuse"
}

# ---- the daemon ----

# A directory for the test. Its file system must have trusted xattrs and should not be tmpfs-less /tmp of a container.
make_work() {
  [ -n "$WORK" ] && return
  WORK=$(mktemp -d "${TEST_DIR:-/var/tmp}/glusterish-test.XXXXXX") || exit 1
  export GLUSTERISH_OBSERVE_DIR=$WORK/observe # processes of other tests are not seen
}

# pick_ports COUNT: sets BASE_PORT to the first of COUNT (32 at most) neighbouring TCP ports that are free now. Tests that run at the
# same time have none in common: each holds a lock of its own until it ends.
pick_ports() {
  local count=$1 try p used
  for try in $(seq 50); do
    BASE_PORT=$((20000 + RANDOM % 375 * 32))
    PORTS_LOCK=${TEST_DIR:-/var/tmp}/glusterish-ports.$BASE_PORT
    exec {PORTS_FD}>"$PORTS_LOCK"
    if flock -n "$PORTS_FD"; then
      used=
      for p in $(seq "$BASE_PORT" $((BASE_PORT + count - 1))); do
        if (exec 3<>"/dev/tcp/$HOST/$p") 2>/dev/null; then
          used=1
          break
        fi
      done
      [ -z "$used" ] && return
      rm -f "$PORTS_LOCK"
    fi
    exec {PORTS_FD}>&-
  done
  PORTS_LOCK=
  echo "Bail out! no free ports after $try tries"
  exit 1
}

# start_glusterishd [OPTION...]: starts it, or starts it again with the same directory and ports.
start_glusterishd() {
  make_work
  if [ -z "$PORT" ]; then
    pick_ports 32
    PORT=$BASE_PORT
  fi
  SOCK=$WORK/d/glusterishd.socket
  if ! timeout 60 "$GLUSTERISHD" --working-directory "$WORK/d" --bind "$HOST" --port "$PORT" --base-port $((PORT + 1)) \
    --max-port $((PORT + 31)) --pid-file "$WORK/d.pid" "$@" >"$WORK/d.out" 2>&1; then
    note "$(cat "$WORK/d.out")"
    return 1
  fi
  DAEMON_PID=$(cat "$WORK/d.pid")
}

# Ends the daemon; bricks go on.
stop_glusterishd() {
  [ -n "$DAEMON_PID" ] || return 0
  kill "$DAEMON_PID" 2>/dev/null
  within 10 not_running "$DAEMON_PID"
  DAEMON_PID=
}

# not_running PID: it has ended, with all its threads. That its parent, often init, has not taken notice yet is of no interest.
not_running() {
  local stat tasks
  kill -0 "$1" 2>/dev/null || return 0
  { read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 0
  tasks=("/proc/$1/task"/*)
  [[ $stat == *') Z '* ]] && [ ${#tasks[@]} -le 1 ]
}

# own_pids PIDFILE...: of the processes that name this test's directory.
own_pids() {
  local pid
  for pid in $(cat "$@" 2>/dev/null); do
    grep -qa -- "$WORK" "/proc/$pid/cmdline" 2>/dev/null && echo "$pid"
  done
}

# processes_of DIR: the pids of what the test with this directory has begun, itself or by others: make_work marks their environment.
processes_of() {
  local file
  for file in $(env -u GLUSTERISH_OBSERVE_DIR grep -lzsxF "GLUSTERISH_OBSERVE_DIR=${1:?}/observe" /proc/[0-9]*/environ); do
    file=${file#/proc/}
    echo "${file%/environ}"
  done
}

# end_processes PID...: all at once, also those that are stopped. Who does not end in ten seconds is killed.
end_processes() {
  local pid end=$((SECONDS + 10))
  [ $# -gt 0 ] || return 0
  kill "$@" 2>/dev/null
  kill -CONT "$@" 2>/dev/null
  for pid in "$@"; do
    within $((end > SECONDS ? end - SECONDS : 0)) not_running "$pid" && continue
    note "process $pid does not end: $(tr '\0' ' ' <"/proc/$pid/cmdline")"
    kill -KILL "$pid"
    within 5 not_running "$pid"
  done
  return 0
}

# The command line tool, talking to this test's daemon.
gi() { "$GLUSTERISH" --mode=script "--glusterd-sock=$SOCK" "$@"; }

# brick_pid VOLUME PATH: the pid of a brick's process, empty if there is none.
brick_pid() {
  local dashed=${2#/}
  cat "$WORK/d/run/vols/$1/$HOST-${dashed//\//-}.pid" 2>/dev/null
}

# shd_pid VOLUME: the pid of its self-heal daemon, empty if there is none.
shd_pid() { cat "$WORK/d/run/shd/$1/$1-shd.pid" 2>/dev/null; }

# start_volume NAME REPLICA [SETS]: creates and starts a volume of bricks $WORK/bricks/NAME-1 ….
start_volume() {
  local name=$1 replica=$2 i bricks=() shape=()
  mkdir -p "$WORK/bricks"
  for i in $(seq $((replica * ${3:-1}))); do bricks+=("$HOST:$WORK/bricks/$name-$i"); done
  [ "$replica" -gt 1 ] && shape=(replica "$replica")
  gi volume create "$name" "${shape[@]}" "${bricks[@]}" force && gi volume start "$name"
}

# mount_volume NAME DIR [OPTION...]: mounts it with glusterishfs; unmounted by the cleanup.
mount_volume() {
  local name=$1 dir=$2
  shift 2
  mkdir -p "$dir"
  MOUNTS+=("$dir")
  "$GLUSTERISHFS" -s "$HOST" --volfile-server-port "$PORT" --volfile-id "$name" -l "$WORK/mount-${dir##*/}.log" "$@" "$dir" ||
    return 1
  within 20 mountpoint -q "$dir"
}

# end_mount DIR: unmounts it, and its process has ended: bricks have all that it had for them.
end_mount() {
  local pid
  pid=$(pgrep -f -- "-l $WORK/mount-${1##*/}.log") && umount "$1" && within 20 not_running "$pid"
}

unmount() { umount "$1" 2>/dev/null || umount -l "$1" 2>/dev/null; }

# ---- bricks without a daemon ----

# plain_brick N: starts a brick $WORK/bN at the port BASE_PORT + N - 1, from a volfile of its own; its pid is in $WORK/bN.pid.
plain_brick() {
  cat >"$WORK/b$1.vol" <<VOL
volume t-posix
    type storage/posix
    option directory $WORK/b$1
end-volume
volume $WORK/b$1
    type features/locks
    subvolumes t-posix
end-volume
volume t-server
    type protocol/server
    option transport.socket.bind-address $HOST
    option listen-port $((BASE_PORT + $1 - 1))
    subvolumes $WORK/b$1
end-volume
VOL
  "$GLUSTERISHFS" -l "$WORK/b$1.log" -f "$WORK/b$1.vol" -p "$WORK/b$1.pid" --brick-name "$WORK/b$1" --process-name brick
}

# plain_client N...: the volfile of a mount of the volume t that is spread over these. REMOTE: another host; LEVEL: another log level.
plain_client() {
  local n=0 b names=
  for b in "$@"; do
    printf 'volume t-client-%d\n    type protocol/client\n    option remote-host %s\n    option remote-port %d\n    option remote-subvolume %s\nend-volume\n' \
      $n "${REMOTE:-$HOST}" $((BASE_PORT + b - 1)) "$WORK/b$b"
    names="$names t-client-$n"
    n=$((n + 1))
  done
  printf 'volume t-dht\n    type cluster/distribute\n    subvolumes%s\nend-volume\n' "$names"
  printf 'volume t\n    type debug/io-stats\n    option log-level %s\n    subvolumes t-dht\nend-volume\n' "${LEVEL:-INFO}"
}

# ---- the end ----

cleanup() {
  local status=$? round dir pids
  trap - EXIT
  trap '' INT TERM
  # What a test that failed has begun: it would keep its mount busy.
  mapfile -t pids < <(jobs -p)
  kill "${pids[@]}" 2>/dev/null
  for dir in "${MOUNTS[@]}"; do unmount "$dir"; done # also one whose process died, which is no mount point any more
  stop_glusterishd
  if [ -n "$WORK" ]; then
    # Again: what is told to end may just be starting another one. Not for ever: a process that waits in the kernel cannot end.
    for ((round = 0; round < 5; round++)); do
      mapfile -t pids < <(processes_of "$WORK")
      [ ${#pids[@]} -gt 0 ] || break
      end_processes "${pids[@]}"
    done
    if [ -n "${KEEP_WORK:-}" ] || { [ "$TEST_FAILED" -gt 0 ] && [ -n "${KEEP_FAILED:-}" ]; }; then
      note "kept: $WORK"
    else
      rm -rf --one-file-system "$WORK"
    fi
  fi
  [ -z "$PORTS_LOCK" ] || rm -f "$PORTS_LOCK"
  [ "$TEST_FAILED" -gt 0 ] && status=1
  exit "$status"
}
trap cleanup EXIT
# Told once, whatever is done at the end is not cut short by being told again: `timeout` tells a process and its group.
trap 'trap "" INT TERM; exit 130' INT TERM
