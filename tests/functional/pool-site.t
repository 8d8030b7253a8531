#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The definitions of a pool are in an etcd of the site (--store): with certificates of clients, below a prefix, at the second of its
# addresses when the first is dead; two pools beside each other; without it volumes are served; a pool that ended leaves room for another.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/pool.sh"
require_pool
require_fuse
command -v openssl >/dev/null || skip_all "needs openssl"
make_nodes 4 # the last one runs the etcd

# ---- the site's etcd, which is not ours ----

site=${ADDR[4]}
mkdir -p "$WORK/site" && cd "$WORK/site" || exit 1
cert() { # NAME AUTHORITY [EXTENSION]
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$1" -keyout "$1.key" -out "$1.csr" &&
    openssl x509 -req -in "$1.csr" -CA "$2.crt" -CAkey "$2.key" -CAcreateserial -days 9 -out "$1.crt" -extfile <(echo "$3")
}
authority() { openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$1" -days 9 -keyout "$1.key" -out "$1.crt"; }
{ authority ca && authority other && cert server ca "subjectAltName=IP:$site" && cert client ca && cert stranger other; } >certs.log 2>&1
cat client.crt client.key >both.pem
start_site() {
  (exec nsenter --net="/run/netns/gp$$n4" etcd --name site --data-dir "$WORK/site/data" --listen-client-urls "https://$site:2379" --advertise-client-urls "https://$site:2379" \
    --listen-peer-urls "http://127.0.0.1:2380" --initial-advertise-peer-urls "http://127.0.0.1:2380" --initial-cluster "site=http://127.0.0.1:2380" \
    --client-cert-auth --trusted-ca-file ca.crt --cert-file server.crt --key-file server.key --log-level error >>"$WORK/site/log" 2>&1) &
  SITE_PID=$!
  within 60 ask_site /health
}
ask_site() { on 4 curl -sf -m 5 --cacert "$WORK/site/ca.crt" --cert "$WORK/site/client.crt" --key "$WORK/site/client.key" "https://$site:2379$1" ${2:+-d "$2"}; }
# keys: all there are, one a line.
keys() { ask_site /v3/kv/range '{"key":"AA==","range_end":"AA==","keys_only":true}' | jq -r '.kvs[]?.key | @base64d'; }
must "the site has an etcd" start_site

# ---- what is no store ----

refuses() { on 1 timeout 20 "$GLUSTERISHD" --working-directory "$WORK/bad" --no-daemon "$@" 2>&1 | head -n 1; }
like "$(refuses --store=http://there)" 'store http://there: it is etcd://HOST' "what is no URL is refused"
like "$(refuses --store-ca=/x)" 'none is named' "and files of none"

# ---- a pool ----

tls=("--store-ca=$WORK/site/ca.crt" "--store-cert=$WORK/site/both.pem")
url=etcd://$POOL_NET.77,$site/pools/one # nobody is at the first
must "a node starts" start_node 1 "--store=$url" "${tls[@]}"
must "and one with the key in a file of its own" start_node 2 "--store=$url" "--store-ca=$WORK/site/ca.crt" \
  "--store-cert=$WORK/site/client.crt" "--store-key=$WORK/site/client.key"
must "another one without" start_node 3
mkdir -p "$WORK/b1" "$WORK/b2"
ok "the first has a volume" gi_on 1 volume create old "${ADDR[1]}:$WORK/b1/old" force
like "$(gi_on 1 peer probe "${ADDR[3]}" 2>&1)" 'start glusterishd with its --store' "who has no store is told so"
must "the second one comes" within 30 gi_on 1 peer probe "${ADDR[2]}"
is "$(keys | grep -v '^pools/one/glusterish/')" "" "all keys begin with the prefix"
is "$(keys | grep -c '/node/')" 2 "there are two nodes"
nok "no etcd of our own runs" test -e "$WORK/n1/run/store.pid" -o -e "$WORK/n2/run/store.pid"
must "a volume is made on the second" gi_on 2 volume create v replica 2 "${ADDR[1]}:$WORK/b1/v" "${ADDR[2]}:$WORK/b2/v" force
must "and started on the first" gi_on 1 volume start v
ok "the second hears of the first one's volume" within 10 knows 2 $'old\nv'
must "it is mounted" mount_on 1 2 v "$WORK/m"
ok "an option is set" gi_on 2 volume set v user.a b
ok "and heard of" within 10 grep -qx user.a=b "$WORK/n1/vols/v/info"

# ---- another pool in the same etcd ----

signal_node KILL 3
must "the third node starts with another prefix" start_node 3 "--store=etcd://$site/pools/two" "${tls[@]}"
like "$(gi_on 1 peer probe "${ADDR[3]}" 2>&1)" 'begin with "pools/one/" in the site' "and does not belong here"
signal_node KILL 3
must "with the same prefix" start_node 3 "--store=etcd://$site/pools/one/" "${tls[@]}"
token=$(gi_on 2 pool token)
must "it comes with a token" gi_on 3 pool join "$token@${ADDR[2]}"
ok "and knows the volumes" within 10 knows 3 $'old\nv'

# ---- the site's etcd is away ----

kill -KILL "$SITE_PID"
wait "$SITE_PID" 2>/dev/null
like "$(gi_on 1 volume set v user.a c 2>&1)" 'no etcd of --store answers' "without it nothing changes"
ok "and files are written" timeout 20 dd if=/dev/urandom of="$WORK/m/file" bs=64k count=4 status=none conv=fsync
signal_node KILL 2
must "a node starts without it" start_node 2 "--store=$url" "${tls[@]}"
online() { [ "$(online_on 1)" = 2 ]; }
ok "and its brick" within 60 online
must "it is back" start_site
ok "something changes" within 60 gi_on 1 volume set v user.a d
ok "and is heard of" within 60 grep -qx user.a=d "$WORK/n2/vols/v/info"

# ---- a stranger ----

signal_node KILL 3
must "a node starts with a certificate of another hand" start_node 3 "--store=etcd://$site/pools/one" "--store-ca=$WORK/site/ca.crt" \
  "--store-cert=$WORK/site/stranger.crt" "--store-key=$WORK/site/stranger.key"
ok "and says in its log that it is not let in" within 10 grep -q 'no TLS with the store' "$WORK/n3/log/glusterishd.log"
signal_node KILL 3
like "$(start_node 3 2>&1)" 'are in an etcd of the site' "nor does it start without the store"
must "it starts as it was" start_node 3 "--store=etcd://$site/pools/one" "${tls[@]}"
ok "and follows" within 60 grep -qx user.a=d "$WORK/n3/vols/v/info"

# ---- the keys are lost ----

ask_site /v3/kv/deleterange '{"key":"AA==","range_end":"AA=="}' >/dev/null
nok "without its keys nothing changes" gi_on 1 volume set v user.a e
ok "they are put back" within 60 gi_on 1 pool recover --force-new
ok "then it does" within 60 gi_on 2 volume set v user.a f
ok "and is heard of everywhere" within 60 grep -qx user.a=f "$WORK/n3/vols/v/info"

# ---- the end of a pool ----

umount "$WORK/m"
three_are() { [ "$(gi_on 1 peer status | grep -c '(Connected)')" = 2 ]; }
ok "as all are" within 60 three_are
ok "nodes leave" gi_on 1 peer detach "${ADDR[3]}"
must "the volume goes" gi_on 1 volume stop v
must "all of it" gi_on 1 volume delete v
ok "the last one leaves" gi_on 1 peer detach "${ADDR[2]}"
alone() { [ "$(gi_on 1 pool list | wc -l)" = 2 ] && [ ! -e "$WORK/n1/pool" ]; }
ok "the first is alone" within 60 alone
is "$(gi_on 1 volume list)" old "with its volume"
must "and begins another pool at the same place" within 60 gi_on 1 peer probe "${ADDR[2]}"
is "$(keys | grep -c '/node/')" 2 "where nothing is left of the one before"
ok "the volume is known" within 10 knows 2 old
signal_node KILL 3
rm -rf "$WORK/n3"
must "a node that is nobody's" start_node 3 "--store=etcd://$site/pools/one" "${tls[@]}"
must "and another such" start_node 4 "--store=etcd://$site/pools/one" "${tls[@]}"
like "$(gi_on 3 peer probe "${ADDR[4]}" 2>&1)" 'another pool has its definitions' "begin no pool there"
kill "$SITE_PID"
done_testing
