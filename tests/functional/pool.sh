# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Several nodes on this machine for functional tests: each a network namespace with its own address, daemon and directories. Source it
# after lib.sh:
#
#   . "$(dirname "$0")/lib.sh"; . "$(dirname "$0")/pool.sh"
#   make_nodes 3                 # sets ADDR[1] ADDR[2] ADDR[3]
#   start_node 1                 # its glusterishd; $WORK/n1 is its directory
#   on 1 command ...             # runs in the node's network
#   gi_on 2 peer status          # the command line tool of a node

NODES=0
declare -A ADDR NODE_PID
POOL_NET=
SWITCH=
LISTENER=

require_pool() {
  require_root
  command -v ip >/dev/null && command -v nsenter >/dev/null || skip_all "needs ip and nsenter"
  command -v etcd >/dev/null || skip_all "needs etcd"
}

# make_nodes COUNT: their namespaces, all on one switch, which is a namespace too.
make_nodes() {
  local i
  make_work
  POOL_NET=10.$((100 + RANDOM % 100)).$((RANDOM % 250))
  SWITCH=gp$$s
  ip netns add "$SWITCH" 2>/dev/null && ip -n "$SWITCH" link add br0 type bridge 2>/dev/null ||
    { ip netns del "$SWITCH" 2>/dev/null; skip_all "needs network namespaces and a bridge"; }
  ip -n "$SWITCH" link set br0 up
  for i in $(seq "$1"); do
    ip netns add "gp$$n$i"
    ip -n "$SWITCH" link add "v$i" type veth peer name eth0 netns "gp$$n$i"
    ip -n "$SWITCH" link set "v$i" master br0 up
    ADDR[$i]=$POOL_NET.$i
    ip -n "gp$$n$i" addr add "${ADDR[$i]}/24" dev eth0
    ip -n "gp$$n$i" link set eth0 up
    ip -n "gp$$n$i" link set lo up
    NODES=$i
  done
}

on() {
  local n=$1
  shift
  GLUSTERISH_OBSERVE_DIR=$WORK/n$n/observe nsenter --net="/run/netns/gp$$n$n" "$@"
}

# start_node N [OPTION...]: starts its daemon, or starts it again. Whoever probes it may have it, unless an option says otherwise.
start_node() {
  local n=$1
  shift
  if ! on "$n" timeout 60 "$GLUSTERISHD" --working-directory "$WORK/n$n" --pid-file "$WORK/n$n.pid" ${INVITATIONS---invitations=on} "$@" >"$WORK/n$n.out" 2>&1; then
    note "$(cat "$WORK/n$n.out")"
    return 1
  fi
  NODE_PID[$n]=$(cat "$WORK/n$n.pid")
}

# processes_of N: everything that runs for the node: daemon, bricks, self-heal daemons, the store.
processes_of() {
  local p
  for p in "$WORK/n$1.pid" "$WORK/n$1"/run/store.pid "$WORK/n$1"/run/vols/*/*.pid "$WORK/n$1"/run/shd/*/*.pid; do
    [ -f "$p" ] && cat "$p"
  done
}

# in_network_of N PID: it is a process of that node and not of somebody who got its number.
in_network_of() { [ "$(stat -Lc %i "/proc/$2/ns/net" 2>/dev/null)" = "$(stat -Lc %i "/run/netns/gp$$n$1")" ]; }

# signal_node SIGNAL N: all its processes get it; whom it ends has ended.
signal_node() {
  local pid pids=()
  for pid in $(processes_of "$2"); do in_network_of "$2" "$pid" && kill "-$1" "$pid" 2>/dev/null && pids+=("$pid"); done
  case $1 in
  TERM | KILL) for pid in "${pids[@]}"; do within 20 not_running "$pid" || return 1; done ;;
  esac
}

# gi_on N WORDS...: the tool, at that node's daemon.
gi_on() {
  local n=$1
  shift
  on "$n" "$GLUSTERISH" --mode=script "--glusterd-sock=$WORK/n$n/glusterishd.socket" "$@"
}

# store_on N PATH BODY: asks the node's member of the store.
store_on() { curl -s -m 5 --unix-socket "$WORK/n$1/store/store:1" "http://store$2" -d "$3"; }

# voters N: how many members vote, as node N's store knows.
voters() { store_on "$1" /v3/cluster/member/list '{}' | jq '[.members[] | select(.isLearner | not)] | length'; }

# ---- questions ----

# gone_over [COUNT]: the members of the store know each other by the pool's secret of now, on all nodes or the first COUNT.
gone_over() {
  local i
  for i in $(seq "${1:-$NODES}"); do
    awk -F'[=:]' '$1 == "generation" {g = $2} $1 == "shown" {s = $2} $1 == "trusted" {n++; t = $2}
      END {exit !(g == s && g == t && n == 1)}' "$WORK/n$i/pool" || return 1
  done
}

all_vote() { [ "$(voters "${1:-1}")" = "$NODES" ]; } # as node 1 or another one says
all_connected() {
  local i
  for i in $(seq "$NODES"); do [ "$(gi_on "$i" peer status | grep -c '(Connected)')" = $((NODES - 1)) ] || return 1; done
}
# online_on N, shds_on N: how many bricks and self-heal daemons are online, as node N says.
online_on() { gi_on "$1" --json volume status 2>/dev/null | jq '[.output.volumes[].nodes[] | select(.kind == "brick" and .online)] | length'; }
shds_on() { gi_on "$1" --json volume status 2>/dev/null | jq '[.output.volumes[].nodes[] | select(.kind == "daemon" and .online)] | length'; }
bothways() { sees 1 "(Connected)" && sees 2 "(Connected)"; }
knows() { [ "$(gi_on "$1" volume list)" = "$2" ]; }
all_heal() { [ "$(shds_on 2)" = "$NODES" ]; }
all_online() { [ "$(online_on 1)" = "$NODES" ]; }
sees() { gi_on "$1" peer status | grep -q "$2"; }
option_on() { [ "$(gi_on "$1" volume get pool "$2" | awk -v k="$2" '$1 == k {print $2}')" = "$3" ]; }
bricks_equal() {
  local i
  for i in $(seq 2 "$NODES"); do cmp -s "$WORK/b1/brick/$1" "$WORK/b$i/brick/$1" || return 1; done
}
brick_processes() { cat "$WORK"/n*/run/vols/*/*.pid 2>/dev/null | wc -l; }

# mount_on N SERVER VOLUME DIR: node N mounts it with what node SERVER tells.
mount_on() {
  mkdir -p "$4"
  MOUNTS+=("$4")
  on "$1" "$GLUSTERISHFS" -s "${ADDR[$2]}" --volfile-server-port 24007 --volfile-id "$3" -l "$WORK/mount-${4##*/}.log" "$4" || return 1
  within 20 mountpoint -q "$4"
}

# listen_on N FILE: all that node N sends and is sent goes into FILE, as a stranger on the way sees it, until LISTENER is killed.
listen_on() {
  cat >"$WORK/listen.py" <<'PY'
import socket, sys
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
s.bind((sys.argv[1], 0))
with open(sys.argv[2], "wb", buffering=0) as f:
    print("listens", flush=True)
    while True:
        f.write(s.recv(65536))
PY
  nsenter --net="/run/netns/$SWITCH" python3 "$WORK/listen.py" "v$1" "$2" >"$WORK/listen.out" 2>&1 &
  LISTENER=$!
  within 10 grep -q listens "$WORK/listen.out"
}

pool_cleanup() {
  local i dir pid
  for dir in "${MOUNTS[@]}"; do unmount "$dir"; done
  MOUNTS=()
  for i in $(seq "$NODES"); do
    signal_node CONT "$i"
    signal_node KILL "$i"
    # Whatever else lives there has no other business.
    for pid in $(ip netns pids "gp$$n$i" 2>/dev/null); do kill -KILL "$pid" 2>/dev/null; done
    ip netns del "gp$$n$i" 2>/dev/null
  done
  [ -n "$SWITCH" ] && ip netns del "$SWITCH" 2>/dev/null
  true
}
trap 'status=$?; pool_cleanup; (exit $status); cleanup' EXIT
