#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What is generated from the tables of metrics is up to date, and no two metrics have one name.
set -u
cd "${GLUSTERISH_SRCDIR:?}" || exit 1
gen=${GLUSTERISH_BUILDDIR:?}/extras/gen-metrics
n=0

# current FORM FILE
current() {
  n=$((n + 1))
  if difference=$("$gen" "$1" | diff "$2" - 2>&1); then
    echo "ok $n - $2 is up to date"
  else
    echo "not ok $n - $2 is up to date (run: make metrics-doc)"
    printf '%s\n' "$difference" | head -n 40 | sed 's/^/# /'
  fi
}

echo "1..5"
current doc doc/metrics.md
current dashboard extras/observability/glusterish-dashboard.json
current alerts extras/observability/glusterish-alerts.yml
twice=$("$gen" doc | grep -oE '^\| `[a-z0-9_]+`' | sort | uniq -d)
[ -z "$twice" ] || printf 'not '
echo "ok 4 - no two metrics have one name"
[ -z "$twice" ] || printf '%s\n' "$twice" | sed 's/^/# /'
silent=$("$gen" doc | grep -E '^\| `' | awk -F'|' '$4 !~ /[a-z]/ {print $2}')
[ -z "$silent" ] || printf 'not '
echo "ok 5 - every metric says what it is"
[ -z "$silent" ] || printf '%s\n' "$silent" | sed 's/^/# /'
