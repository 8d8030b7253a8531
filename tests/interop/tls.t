#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# TLS with GlusterFS, both ways: our client on its bricks, its client on ours, with the same certificates. What is written is in no packet.
. "$(dirname "$0")/../functional/lib.sh"
. "$(dirname "$0")/bricks.sh"
require_glusterfs
command -v openssl >/dev/null || skip_all "needs openssl"

secret=no-eye-may-see-this-$$
RELAY=10

# Between the mounts and the bricks: what passes is kept.
relay_start() {
  python3 "$(dirname "$0")/relay.py" "$HOST" "$BASE_PORT" "$RELAY" 3 "$WORK/seen" &
  relay=$!
  within 10 test -e "$WORK/seen"
}
relay_stop() {
  kill "$relay" 2>/dev/null
  wait "$relay" 2>/dev/null
}
seen() { grep -qa "$secret" "$WORK/seen"; }

# write_and_read WHO: a mount of that kind writes what another one finds.
write_and_read() {
  interop_mount "$1" "$WORK/$1" || return 1
  yes "$secret" | head -c 3000000 >"$WORK/$1/file" && sync "$WORK/$1/file" &&
    [ "$(md5sum <"$WORK/$1/file")" = "$(yes "$secret" | head -c 3000000 | md5sum)" ] && [ "$(stat -c %s "$WORK/b1/file")" = 3000000 ]
  local status=$?
  unmount "$WORK/$1"
  return $status
}

# begin BRICKS
begin() {
  interop_begin "$1" || return 1
  relay_start
}

end() {
  relay_stop
  for n in 1 2 3; do brick_stop $n; done
  MOUNTS=()
  rm -rf "$WORK"/b? "$WORK/seen"
}

must "bricks start" begin ours
ok "a plain mount writes" write_and_read ours
ok "and the relay has seen it" seen
end

must "certificates are made" tls_files "$WORK/tls"
TLS=$WORK/tls ALLOW="nobody,joe"
for pair in "ours real" "real ours" "ours ours"; do
  read -r bricks client <<<"$pair"
  must "bricks of $bricks start with TLS" begin "$bricks"
  ok "a client of $client writes and reads" write_and_read "$client"
  nok "and nobody on the way has seen it" seen
  if [ "$pair" = "ours ours" ]; then
    tls_certificate "$TLS" client jim
    nok "a name that is not allowed does not mount" interop_mount ours "$WORK/no"
    like "$(cat "$WORK"/b1.log)" 'auth.ssl-allow does not allow its certificate "jim"' "and the brick says so"
  fi
  end
done
done_testing
