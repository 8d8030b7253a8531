# SPDX-License-Identifier: Apache-2.0
# Volumes of three copies over three nodes of this machine (extras/nodes.sh), each with its daemons in a network of its own, connected by a
# switch on which everything takes a while (slow-switch.c): the systems nodes and gluster-nodes of systems.sh, mounted on the first node.
# shellcheck shell=bash

node_prefix=glusterish-b node_port=24807 # the packaged one has the standard port
. "$top/extras/nodes.sh"

node_delay_us=${node_delay_us:-1000} # each way
slow_switch='' slow_file='' slow_pool='' gluster_pool=''

# slow_nodes_delay MICROSECONDS: from now on.
slow_nodes_delay() {
  echo "$1" >"$slow_file"
  [ -z "$slow_switch" ] || kill -HUP "$slow_switch"
}

# Microseconds there and back between the first two nodes: nobody listens at that port, which is told.
slow_nodes_rtt() {
  at 1 python3 - "$(node_address 2)" <<'PY'
import socket, sys, time
best = 1e9
for _ in range(10):
    s = socket.socket()
    begin = time.monotonic()
    s.connect_ex((sys.argv[1], 9))
    best = min(best, time.monotonic() - begin)
    s.close()
print(int(best * 1e6))
PY
}

slow_nodes_up() {
  local rtt
  [ -n "$slow_switch" ] && return 0
  nodes_down # of a run that was killed
  rm -rf --one-file-system "$dir"/bricks/n[0-9]
  mkdir -p "$dir"/{run,bricks}
  gcc -O2 -D_GNU_SOURCE -o "$dir/run/slow-switch" "$top/tests/bench/slow-switch.c" || die "the slow switch cannot be built"
  nodes_up 3
  ip -n "$node_switch" link del br0
  slow_file=$dir/run/delay
  slow_nodes_delay "$node_delay_us"
  nsenter --net="/run/netns/$node_switch" "$dir/run/slow-switch" "$slow_file" v1 v2 v3 2>"$dir/log/slow-switch.log" &
  slow_switch=$!
  disown "$slow_switch" # its end is no news
  rtt=$(slow_nodes_rtt) && [ "$rtt" -ge $((2 * node_delay_us)) ] || die "the slow switch does not work; see $dir/log/slow-switch.log"
  say "between nodes: $rtt µs there and back"
}

slow_nodes_down() {
  [ -n "$slow_switch" ] || return 0
  nodes_down
  slow_switch='' slow_pool='' gluster_pool=''
}

nodes_are_joined() { [ "$(node_gi 1 peer status | grep -c '(Connected)')" = 2 ]; }

slow_pool_up() {
  local i token bricks=()
  slow_nodes_up
  [ -n "$slow_pool" ] && return 0
  for i in 1 2 3; do
    node_daemon $i && bricks+=("$(node_address $i):$dir/bricks/n$i") || return 1
    [ $i = 1 ] || { token=$(node_gi 1 pool token) && node_gi $i pool join "$token@$(node_address 1)" >&2; } || return 1
  done
  wait_for 30 nodes_are_joined && node_gi 1 volume create "$volume" replica 3 "${bricks[@]}" force >&2 && node_gi 1 volume start "$volume" >&2 || return 1
  slow_pool=up
}

gluster_gi() { at "$1" gluster --mode=script --glusterd-sock="$gdir/n$1/glusterd.socket" "${@:2}"; }
gluster_knows() { [ "$(gluster_gi "$1" peer status | grep -c 'Peer in Cluster (Connected)')" = 2 ]; }

gluster_pool_up() {
  local i bricks=()
  slow_nodes_up
  [ -n "$gluster_pool" ] && return 0
  for i in 1 2 3; do
    mkdir -p "$gdir/n$i"/{work,run,log}
    cat >"$gdir/n$i/glusterd.vol" <<VOL
volume management
    type mgmt/glusterd
    option working-directory $gdir/n$i/work
    option run-directory $gdir/n$i/run
    option glusterd-sockfile $gdir/n$i/glusterd.socket
    option transport-type socket
    option transport.address-family inet
    option transport.socket.keepalive-time 10
    option transport.socket.keepalive-interval 2
    option transport.tcp-user-timeout 0
    option ping-timeout 0
    option base-port 59152
end-volume
VOL
    at $i glusterd -f "$gdir/n$i/glusterd.vol" -p "$gdir/n$i/glusterd.pid" -l "$gdir/n$i/log/glusterd.log" && wait_for 20 gluster_gi $i volume list || return 1
    bricks+=("$(node_address $i):$gdir/n$i/brick")
    [ $i = 1 ] || gluster_gi 1 peer probe "$(node_address $i)" >&2 || return 1
  done
  for i in 1 2 3; do wait_for 60 gluster_knows $i || return 1; done
  gluster_gi 1 volume create bench replica 3 "${bricks[@]}" force >&2 && gluster_gi 1 volume start bench >&2 || return 1
  gluster_pool=up
}
