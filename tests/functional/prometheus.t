#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prometheus understands what the processes show: its linter, and a living one that scrapes them.
. "$(dirname "$0")/lib.sh"
require_root
require_fuse
for program in prometheus promtool curl jq; do command -v $program >/dev/null || skip_all "needs $program"; done
EXTRAS=$GLUSTERISH_SRCDIR/extras/observability
PROMETHEUS=
end_prometheus() { [ -z "$PROMETHEUS" ] || { kill "$PROMETHEUS" && wait "$PROMETHEUS"; } 2>/dev/null; }
trap 'end_prometheus; cleanup' EXIT
start_glusterishd --observe="$HOST:0"
must "a volume starts" start_volume seen 2
must "it is mounted" mount_volume seen "$WORK/mnt" --observe="$HOST:0"
echo content >"$WORK/mnt/file"

# port LOG: where its process is observed.
port() { sed -n 's/.*observed on TCP port \([0-9]*\)$/\1/p' "$1" | tail -n 1; }
DAEMON=$HOST:$(port "$WORK/d/log/glusterishd.log") CLIENT=$HOST:$(port "$WORK/mount-mnt.log")

for page in "$DAEMON/metrics" "$CLIENT/metrics" "$DAEMON/metrics/all"; do
  curl -s --max-time 30 "http://$page" >"$WORK/page"
  is "$(promtool check metrics <"$WORK/page" 2>&1 | grep -v "use 'http_requests_total'")" "" "promtool finds nothing in /${page#*/} of ${page%%/*}"
done
is "$(grep -c '^# HELP' "$WORK/page")" "$(grep '^# HELP' "$WORK/page" | cut -d' ' -f3 | sort -u | wc -l)" "a family stands once in what is gathered"
is "$(grep '^glusterish_process_start_time' "$WORK/page" | grep -oE 'process="[a-z]+' | cut -d'"' -f2 | sort | uniq -c | xargs)" \
  "2 brick 1 client 1 glusterishd 1 shd" "and has all processes"
is "$(curl -s --max-time 30 "http://$DAEMON/metrics/all?volume=none" | grep -c 'process=')" 0 "of a volume, if that is asked for"
headers=$(curl -s --max-time 30 -o "$WORK/open" -D - -H 'Accept: application/openmetrics-text;version=1.0.0' "http://$DAEMON/metrics/all")
like "$headers" '^Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8' "who asks for OpenMetrics is given it"
is "$(tail -n 1 "$WORK/open")" "# EOF" "with its end"
like "$(promtool check rules "$EXTRAS/glusterish-alerts.yml" 2>&1)" 'SUCCESS' "the alert rules are rules"

mkdir "$WORK/prometheus"
cp "$EXTRAS/glusterish-alerts.yml" "$WORK/prometheus"
sed -e "s/127.0.0.1:9324/$DAEMON/" -e 's/15s/4s/' "$EXTRAS/prometheus.yml" >"$WORK/prometheus/prometheus.yml"
printf '%s\n' "  - job_name: client" "    scrape_interval: 4s" "    static_configs:" "      - targets: ['$CLIENT']" >"$WORK/prometheus/more.yml"
sed -i "/^rule_files/e cat $WORK/prometheus/more.yml" "$WORK/prometheus/prometheus.yml"
printf 'global:\n  evaluation_interval: 1s\n' >>"$WORK/prometheus/prometheus.yml"
like "$(promtool check config "$WORK/prometheus/prometheus.yml" 2>&1)" 'SUCCESS.*valid' "the example is a configuration"
prometheus --config.file="$WORK/prometheus/prometheus.yml" --storage.tsdb.path="$WORK/prometheus/data" \
  --web.listen-address="$HOST:0" --log.level=warn >"$WORK/prometheus/log" 2>&1 &
PROMETHEUS=$!
# It says nowhere which port the system gave it.
listens() { AT=$(ss -Hltnp | sed -n "s/.* \([0-9.]*:[0-9]*\) .*pid=$PROMETHEUS,.*/\1/p") && [ -n "$AT" ] && curl -sf "http://$AT/-/ready"; }
within 60 listens || note "$(tail -n 5 "$WORK/prometheus/log")"
must "Prometheus is ready" listens

# query EXPRESSION: number of series of the answer.
query() {
  curl -s --max-time 30 --data-urlencode "query=$1" "http://$AT/api/v1/query" | jq '.data.result | length'
}
has() { [ "$(query "$1")" = "$2" ]; }
ok "it scrapes both" within 40 has 'up == 1' 2
ok "and knows all processes" within 20 has 'count by (process) ({__name__=~"glusterish_process_start.*",job="glusterish"})' 5
is "$(query 'glusterish_brick_online == 1')" 2 "bricks are online"
is "$(query 'glusterish_mount_fuse_requests_total{volume="seen",job="client"} > 0')" 1 "what the mount did is counted"
curl -s "http://$AT/api/v1/label/__name__/values" | jq -r '.data[]' | sort >"$WORK/known"
is "$(grep -ohE 'glusterish_[a-z_]+' "$EXTRAS/glusterish-alerts.yml" | sort -u | comm -23 - "$WORK/known" | xargs)" "" \
  "every metric of the alert rules is there"

kill -9 "$(brick_pid seen "$WORK/bricks/seen-1")"
pending() { curl -s "http://$AT/api/v1/alerts" | jq -r '.data.alerts[].labels.alertname' | grep -qx "$1"; }
ok "a brick that died is about to be told" within 30 pending GlusterishBrickOffline
ok "and that the mount cannot reach it" within 30 pending GlusterishBrickUnreachable
done_testing
