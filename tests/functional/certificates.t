#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Certificates that are not to be trusted: whoever shows one is refused by the daemon and by a brick, and both ends say what is wrong with it.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/bricks.sh"
require_root
require_fuse
must "the daemon starts" start_glusterishd
must "a volume is started" start_volume v 1
must "TLS is switched on" gi pool tls enable
must "and demanded" gi pool tls require
port=$(gi volume status v --json | jq -r '[.. | objects | select(.port?) | .port] | first')
C=$WORK/certs
mkdir "$C"
jq -r .key "$WORK/d/tls/authority" >"$C/ours.key"
jq -r .certificate "$WORK/d/tls/authority" >"$C/ours.pem"

# signed NAME CA DAYS: a key and a certificate of that authority; self-made if there is none.
signed() {
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$1" -keyout "$C/$1.key" -out "$C/$1.csr" 2>/dev/null
  if [ -n "$2" ]; then
    openssl x509 -req -in "$C/$1.csr" -CA "$C/$2.pem" -CAkey "$C/$2.key" -days "$3" -out "$C/$1.pem" 2>/dev/null
  else
    openssl x509 -req -in "$C/$1.csr" -signkey "$C/$1.key" -days "$3" -out "$C/$1.pem" 2>/dev/null
  fi
}
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=theirs" -days 9 -keyout "$C/theirs.key" -out "$C/theirs.pem" 2>/dev/null
signed good ours 9
signed wrong theirs 9
signed expired ours -1
signed self "" 9
revoked=$(gi pool tls client revoked)
cp "$revoked/glusterfs.pem" "$C/revoked.pem" && cp "$revoked/glusterfs.key" "$C/revoked.key"
must "one is revoked" gi pool tls revoke revoked

told() { grep -hqE "$1" $2; }
# shows NAME PORT: somebody speaks TLS to that port with it.
shows() { timeout 5 openssl s_client -connect "$HOST:$2" -cert "$C/$1.pem" -key "$C/$1.key" </dev/null >/dev/null 2>&1; }
# mounts NAME: a client with it
mounts() {
  printf 'option ssl-own-cert %s/%s.pem\noption ssl-private-key %s/%s.key\noption ssl-ca-list %s/ours.pem\n' "$C" "$1" "$C" "$1" "$C" >"$C/access"
  mkdir -p "$WORK/m-$1"
  GLUSTERISH_SECURE_ACCESS=$C/access timeout 20 "$GLUSTERISHFS" -s "$HOST" --volfile-server-port "$PORT" --volfile-id v -l "$WORK/m-$1.log" "$WORK/m-$1" 2>/dev/null &&
    within 10 mountpoint -q "$WORK/m-$1"
}

# refused NAME SERVER-SAYS CLIENT-SAYS
refused() {
  nok "$1: a client does not mount with it" mounts "$1"
  ok "$1: the client says why" within 5 told "$3" "$WORK/m-$1.log"
  ok "$1: the daemon says why" within 5 told "$2" "$WORK/d/log/glusterishd.log"
  shows "$1" "$port"
  ok "$1: the brick says why" within 5 told "$2" "$WORK/d/log/bricks/*.log"
}
refused wrong 'its certificate "wrong" is of the wrong CA: "theirs"' "of a wrong CA, or self-made"
refused expired 'its certificate "expired" has expired: ' "certificate of this side: expired"
refused self 'its certificate "self" is self-made' "of a wrong CA, or self-made"
refused revoked 'its certificate "revoked" is revoked' "certificate of this side: revoked"
ok "one that is in order does" mounts good

# ---- handshakes that are begun and never go on ----

brick=$(brick_pid v "$WORK/bricks/v-1") most=128
! grep -qE "lib[a-z]*asan" "/proc/$brick/maps" || most=528 # what was freed is kept for a while
# bears NAME PORT PID: 1,000 of them at a time from one address; who means it is served meanwhile, and memory is bounded.
bears() {
  local said
  said=$(python3 "$(dirname "$0")/strangers.py" shake "$HOST" "$2" "$3" \
    "openssl s_client -connect '$HOST:$2' -tls1_3 -cert '$C/good.pem' -key '$C/good.key' </dev/null 2>&1 | grep -q 'Server certificate' && echo x >>'$WORK/m-good/file'" 2>&1)
  note "$said"
  like "$said" '^[0-9]+ status 0:' "$1: who means it is served"
  ok "$1: memory is bounded" test "$(awk 'END {print $1 ~ /^[0-9]+$/ ? $1 : 9999}' <<<"$said")" -lt $most
}
bears "half-open handshakes at the daemon" "$PORT" "$DAEMON_PID"
bears "half-open handshakes at a brick" "$port" "$brick"
ok "the mount was never gone" test "$(wc -l <"$WORK/m-good/file")" = 2
umount "$WORK/m-good"
done_testing
