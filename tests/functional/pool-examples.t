#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The examples of doc/operating.md, one after the other as they stand there, in a pool of machines that are named as there. Those about
# encryption and of machines that are known by numbers (pool-recover.t) have tests of their own.
[ "$(id -u)" = 0 ] && [ -z "${OWN_MOUNTS:-}" ] && OWN_MOUNTS=1 exec unshare -m --propagation private "$(dirname "$0")/own-mounts" bash "$0" "$@"
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/pool.sh"
require_pool
require_fuse
make_nodes 4
for i in 1 2 3 4; do echo "${ADDR[$i]} n$i"; done >"$WORK/hosts"
echo "${ADDR[2]} n2.new.example" >>"$WORK/hosts"
cat /etc/hosts >>"$WORK/hosts"
mount --bind "$WORK/hosts" /etc/hosts || skip_all "cannot give the nodes names"
INVITATIONS=
for i in 1 2 3 4; do
  mkdir -p "$WORK/b$i"
  must "node $i starts" start_node $i --brick-root="$WORK/b$i"
done

healed() { [ "$(gi_on 1 volume heal data info | awk '/^Number of entries:/ {n += $4; bricks++} END {print bricks n + 0}')" = 30 ]; }
replaced() { gi_on 1 node status | grep -q '^State: done'; }
# over WORDS...: no node is at it any more, and none has failed.
over() {
  local said
  said=$(gi_on 1 volume "$@" status) && grep -q completed <<<"$said" && ! grep -qE 'in progress|failed|not started' <<<"$said"
}
copied() { cmp "$WORK/m/file" "$WORK"/b4/data*/file; } # where the node has put it
brick_runs() { cat "$WORK"/n2/run/vols/data/*.pid >/dev/null 2>&1; }
token=
# take N WORDS...: the example on node N.
take() {
  local n=$1 words
  shift
  # The second set is on the same machines: the fourth one comes later, for another reason.
  words=$(sed -E "s,n4:(\S*)/data n5:\S* n6:\S*,n1:\1/grown n2:\1/grown n3:\1/grown,; s,(n[1-4]):/bricks,\1:$WORK/B\1,g; s,/Bn,/b,g; s,TOKEN,$token,; s, /root/, $WORK/,; s, /mnt\$, $WORK/m," <<<"$*")
  case $words in
  *' volume create '* | *' node replace '* | *' add-brick '*) words="$words force" ;; # all bricks are on the disk of the system here
  mount*)
    ok "$*" mount_on "$n" 1 data "$WORK/m"
    head -c 100000 /dev/urandom >"$WORK/m/file"
    return
    ;;
  *'reset-brick data '*' start')
    within 20 brick_runs # it has just come back
    kill -KILL "$(cat "$WORK"/n2/run/vols/data/*.pid)"
    rm -rf "$WORK/b2/data" && mkdir "$WORK/b2/data" # the new disk
    ;;
  *'pool join '*' as '*) # its system disk
    signal_node KILL "$n" && rm -rf "$WORK/n$n"
    must "node $n is installed anew" start_node "$n" --brick-root="$WORK/b$n"
    ;;
  *'pool recover'*)
    [ -n "$token" ] || return # another place says only that there is such a thing
    signal_node KILL 2 && signal_node KILL 4
    ;;
  esac
  # shellcheck disable=SC2086
  ok "$*" gi_on "$n" ${words#glusterish }
  case $words in
  *'pool token') token=$OUTPUT ;;
  *'heal data info') ok "nothing is left" within 60 healed ;;
  *'rebalance data start' | *'remove-brick data '*' start')
    words=${words#glusterish volume }
    # shellcheck disable=SC2086
    ok "it comes to its end" within 60 over ${words% start}
    ;;
  *'node replace '*) ok "it is replaced" within 150 replaced ;;
  *'pool recover'*) for i in 2 4; do must "node $i is back" start_node $i --brick-root="$WORK/b$i"; done ;;
  *'pool join '*@n1) # and so on
    if [ "$n" = 2 ]; then
      token=$(gi_on 1 pool token)
      must "the third one likewise" gi_on 3 pool join "$token@n1"
    fi
    ;;
  esac
}
while read -r line; do
  case $line in
  *'pool tls'* | *'peer update 10.'*) ;;
  n[1-4]'# '*) take "${line:1:1}" "${line#n?# }" ;;
  *) take 1 "$line" ;;
  esac
done < <(sed -nE 's/^    ((n[1-4]# )?(glusterish|mount -t glusterish) .*)/\1/p' "$GLUSTERISH_SRCDIR/doc/operating.md" |
  sed -E 's/^(n[1-4])# /\1@/; s/ +# .*//; s/^(n[1-4])@/\1# /; /--invitations/d')
ok "the file is everywhere that there is a brick" within 30 copied
ok "all nodes are there" within 30 sees 1 "Hostname: n2.new.example"
umount "$WORK/m"
done_testing
