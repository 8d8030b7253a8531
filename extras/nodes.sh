# SPDX-License-Identifier: Apache-2.0
# quickstart --nodes: several nodes on this machine, each a network namespace with an address that exists only there. Pool, encryption, a
# volume over them, a mount, PostgreSQL, and a node that is killed and comes back. Source it after lib.sh, pgbench.sh and volume.sh, and set
# what those want.
# shellcheck shell=bash

node_net=10.213.77
node_prefix=${node_prefix:-glusterish-q} # of the names of their networks
node_switch=${node_prefix}s
node_port=${node_port:-24007}
node_commands=()

node_name() { echo "$node_prefix$1"; }
node_address() { echo "$node_net.$1"; }

# at N COMMAND...: in that node's network.
at() {
  local n=$1
  shift
  GLUSTERISH_OBSERVE_DIR=$dir/n$n/observe nsenter --net="/run/netns/$(node_name "$n")" "$@"
}

node_gi() {
  local n=$1
  shift
  at "$n" "$sbin/glusterish" --mode=script --glusterd-sock="$dir/n$n/glusterishd.socket" "$@"
}

node_daemon() { at "$1" "$sbin/glusterishd" --working-directory="$dir/n$1" --pid-file="$dir/n$1.pid" --port="$node_port"; }

node_mount() { at "$1" "$sbin/mount.glusterish" "$2" "$mnt" -o "server-port=$node_port,log-file=$dir/log/mount.log"; }

# show N COMMAND...: what is typed on a node, and what comes of it.
show() {
  local n=$1
  shift
  printf '\n\033[1mn%s#\033[0m %s\n' "$n" "$*" >&2
  node_commands[n]=$((${node_commands[n]:-0} + 1))
  case $1 in
  glusterishd) node_daemon "$n" ;;
  glusterish) node_gi "$n" "${@:2}" ;;
  mount) node_mount "$n" "$4" ;;
  esac || die "node $n: $* failed; see $dir/n$n/log"
}

# ---- the machines ----

nodes_up() {
  local i
  ip netns add $node_switch && ip -n $node_switch link add br0 type bridge && ip -n $node_switch link set br0 up ||
    die "network namespaces and a bridge are needed"
  for i in $(seq "$1"); do
    ip netns add "$(node_name "$i")" &&
      ip -n $node_switch link add "v$i" type veth peer name eth0 netns "$(node_name "$i")" &&
      ip -n $node_switch link set "v$i" master br0 up &&
      ip -n "$(node_name "$i")" addr add "$(node_address "$i")/24" dev eth0 &&
      ip -n "$(node_name "$i")" link set eth0 up && ip -n "$(node_name "$i")" link set lo up || die "node $i has no network"
    mkdir -p "$dir/n$i"
  done
}

# Everything that runs on node N ends at once, as if the power were out.
node_kill() {
  local pid
  for pid in $(ip netns pids "$(node_name "$1")" 2>/dev/null); do kill -KILL "$pid" 2>/dev/null; done
}

nodes_down() {
  local name
  volume_umount "$mnt"
  for name in $(ip netns list 2>/dev/null | awk -v p="$node_prefix" 'index($1, p) == 1 {print $1}'); do
    node_kill "${name#"$node_prefix"}"
    ip netns del "$name"
  done
  rm -rf --one-file-system "$dir"/n[0-9]*
}

# ---- the work ----

node_left() { [ "$(node_gi 1 peer status | grep -c '(Connected)')" -lt $((nodes - 1)) ]; }
nodes_healed() { [ "$(node_gi 1 volume heal "$volume" info | awk '/^Number of entries:/ {n += $4; bricks++} END {print bricks n + 0}')" = "${nodes}0" ]; }

# PostgreSQL on the mount: in the middle of its run the last node is killed, and comes back.
nodes_pgbench() {
  local data=$mnt/pgdata/data run=$dir/run/nodes bench third=$((seconds > 8 ? seconds / 3 : 3))
  mkdir -p "$mnt/pgdata" "$run" && chown postgres "$mnt/pgdata" "$run" || die "cannot make the data directory"
  as_postgres "$pg_bin/initdb" -D "$data" -A trust --data-checksums >"$run/initdb.log" 2>&1 && pg_start "$data" "$run" &&
    as_postgres "$pg_bin/createdb" -h "$run" bench &&
    as_postgres "$pg_bin/pgbench" -h "$run" -i -q -s "$scale" bench >"$run/init.log" 2>&1 || die "PostgreSQL failed; see $run"
  as_postgres "$pg_bin/pgbench" -h "$run" -c 4 -j 2 -P 1 -T $((3 * third)) bench >"$run/tpcb.log" 2>&1 &
  bench=$!
  sleep "$third"
  say "node $nodes is killed while pgbench runs"
  node_kill "$nodes"
  wait_for 30 node_left && node_gi 1 pool list
  sleep "$third"
  say "and comes back"
  show "$nodes" glusterishd
  wait $bench || die "pgbench failed; see $run/tpcb.log"
  grep -E '^(progress|tps|number of failed)' "$run/tpcb.log"
  pg_stop "$data" || die "PostgreSQL does not stop; see $run"
  wait_for 120 nodes_healed || die "the copy of node $nodes is not healed"
  say "its copy is healed: nothing is left to do"
}

# From nothing to all that. $nodes, $scale, $seconds.
nodes_run() {
  local i token
  nodes_up "$nodes"
  for i in $(seq "$nodes"); do show "$i" glusterishd; done
  for i in $(seq 2 "$nodes"); do
    token=$(show $((i - 1)) glusterish pool token) || exit 1
    node_commands[i - 1]=$((${node_commands[i - 1]} + 1)) # it was typed in a shell of its own
    show "$i" glusterish pool join "$token@$(node_address $((i - 1)))"
  done
  (show 1 glusterish pool tls enable) || say "without encryption"
  node_commands[1]=$((${node_commands[1]} + 1))
  show 2 glusterish volume create "$volume" replica "$nodes" auto force
  show "$nodes" glusterish volume start "$volume"
  mkdir -p "$mnt"
  show 1 mount -t glusterish "$(node_address 1):/$volume" "$mnt"
  printf '\ncommands typed on each node: %s\n' "${node_commands[*]}"
  nodes_pgbench
  node_gi 1 volume status "$volume"
}
