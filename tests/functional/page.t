#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The page of glusterishd: what it shows to a browser of a volume under load with a brick that is down, and to whom it shows nothing.
. "$(dirname "$0")/heal.sh"
require_root
require_fuse
CHROMIUM=${CHROMIUM:-$(command -v chromium)} || skip_all "needs chromium"

make_work
pick_ports 32
PORT=$BASE_PORT
AT=127.0.0.1:$((PORT + 31))
start_glusterishd --observe="$AT/all" || exit 1
must "a replicated volume is mounted" start_heal_volume

get() { curl -s -m 10 "http://$AT$1"; }
status() { curl -s -m 10 -o /dev/null -w '%{http_code}' "$@"; }
has() { get "/page/$1" | jq -e "$2"; }

# ---- who is answered ----
is "$(status "http://$AT/")" 200 "the page is there"
is "$(status -H 'Host: localhost:1' "http://$AT/page/volumes")" 200 "under the name of this machine"
is "$(status -H 'Host: rebound.example.com' "http://$AT/page/volumes")" 403 "another name is refused"
is "$(status -H 'Host: rebound.example.com' "http://$AT/")" 403 "for the page too"
is "$(status -X POST "http://$AT/page/volumes")" 501 "nothing but GET is understood"
is "$(status "http://$AT/page/history?since=x")" 400 "a bad question is refused"
is "$(status "http://$AT/page/trace?id=0")" 404 "and one for what is not there"
header=$(curl -s -m 10 -D - -o /dev/null "http://$AT/")
like "$header" "^Content-Security-Policy: default-src 'none'" "the page may load nothing of others"
nok "it sets no cookie" grep -qi '^set-cookie' <<<"$header"

# ---- load, and a brick that goes ----
load() { for i in $(seq 30); do head -c 20000 /dev/zero >"$M/$1-$i" && cat "$M/$1-$i" >/dev/null; done; }
ok "files are written" load early
ok "a brick goes" kill_brick 3
ok "files are written that it misses" load late
ok "the daemon has seen it go" within 10 has volumes '.volumes[0].bricks[2].state == "down"'
ok "what is to be healed is told" within 15 has volumes '.volumes[0].heal.pending > 0'
busy() { load busy; has history '[.series[] | select(.kind == "WRITE") | .count[]] | add > 0'; }
ok "operations are counted" within 15 busy
slow() {
  local pid
  pid=$(brick_pid h "$B/h-2")
  kill -STOP "$pid" && { echo slow >"$M/slow" & } && sleep 1 && kill -CONT "$pid" && wait $!
}
ok "an operation is slow" slow
ok "which is told with its steps" within 15 has operations 'any(.slow[]; .has_tree and .process.role == "client")'

# ---- in a browser ----
while read -r line; do
  case $line in
    'ok '*) pass "${line#ok }" ;;
    'not ok '*) fail "${line#not ok }" ;;
    *) echo "$line" ;;
  esac
done < <(python3 "$GLUSTERISH_SRCDIR/tests/functional/page.py" "$CHROMIUM" "http://$AT/" "$WORK/profile" h "$B/h-3" ${SCREENSHOT:+"$SCREENSHOT"} 2>&1 ||
  echo "not ok the browser came to its end")

done_testing
