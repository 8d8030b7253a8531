#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# pool tls: a running volume goes over to TLS while it is written to, clients get credentials, lose them, and nobody without gets in.
. "$(dirname "$0")/lib.sh"
require_root
require_fuse

# as NAME COMMAND...: with the credentials of that machine; "nobody" has none
as() {
  local who=$1
  shift
  GLUSTERISH_SECURE_ACCESS=$WORK/access-$who "$@"
}
# client NAME: the bundle of that name, used where it lies
client() {
  local dir
  dir=$(gi pool tls client "$1") || return 1
  printf 'option ssl-own-cert %s/glusterfs.pem\noption ssl-private-key %s/glusterfs.key\noption ssl-ca-list %s/glusterfs.ca\n' \
    "$dir" "$dir" "$dir" >"$WORK/access-$1"
}
try_mount() {
  rm -f "$WORK/try.log"
  mkdir -p "$WORK/try"
  as "$1" timeout 20 "$GLUSTERISHFS" -s "$HOST" --volfile-server-port "$PORT" --volfile-id v -l "$WORK/try.log" "$WORK/try" 2>/dev/null &&
    within 10 mountpoint -q "$WORK/try"
}
told() { grep -qE "$1" "$2"; }

must "the daemon starts" start_glusterishd
must "a volume is started" start_volume v 3
must "it is mounted without TLS" as nobody mount_volume v "$WORK/m1"
echo before >"$WORK/m1/f"
like "$(gi pool tls status)" "Management: without TLS" "there is none at first"
nok "nothing is renewed before there is anything" gi pool tls rotate

ok "pool tls enable" gi pool tls enable
like "$(gi pool tls status)" "Management: with and without TLS" "both kinds are taken"
like "$(gi pool tls status)" "Volume v: clients without TLS are served" "by the volume too"
is "$(gi volume get v server.ssl | awk '$1 == "server.ssl" {print $2}')" on "the volume's options are set"
ok "who was mounted goes on" sh -c 'echo during >>"$0/f" && grep -q before "$0/f"' "$WORK/m1"
ok "a client gets credentials" client joe
ok "and mounts with them" as joe mount_volume v "$WORK/m2"
is "$(cat "$WORK/m2/f")" "before
during" "it reads what the other wrote"

ok "pool tls require" gi pool tls require
nok "a new plain client does not mount" try_mount nobody
ok "the daemon says why" within 5 told 'refused: .* a plain client at a port of TLS' "$WORK/d/log/glusterishd.log"
umount "$WORK/m2"
ok "one with credentials does" try_mount joe
umount "$WORK/try"
ok "credentials are renewed" gi pool tls rotate
ok "and the new ones are taken" try_mount joe
umount "$WORK/try"
ok "a name is revoked" gi pool tls revoke joe
nok "it does not mount any more" try_mount joe
ok "and both sides say why" within 5 told 'its certificate "joe" is revoked' "$WORK/d/log/glusterishd.log"
stop_glusterishd
must "the daemon starts again" start_glusterishd
ok "bricks and self-heal daemons find it" within 20 sh -c '"$0" --mode=script "--glusterd-sock=$1" volume status v | grep -c "Y *[0-9]" | grep -qx 4' "$GLUSTERISH" "$SOCK"
done_testing
