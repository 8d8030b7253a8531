#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The libraries have the static probes that usdt.h names, and the examples for bpftrace use no others.
set -u
src=${GLUSTERISH_SRCDIR:?} build=${GLUSTERISH_BUILDDIR:?}
named=$(sed -nE 's/^ \*   ([a-z_]+)\(.*/\1/p' "$src/libglusterish/usdt.h" | sort -u)
used=$(grep -ohE 'glusterish:[a-z_]+$' "$src"/extras/bpftrace/*.bt | sed 's/.*://' | sort -u)

# probes LIBRARY: "NAME ARGUMENTS" of each probe of ours.
probes() {
  readelf -n "$1" 2>/dev/null | awk '/Provider: / {ours = $2 == "glusterish"} /Name: / {name = $2} /Arguments: / && ours {print name, NF - 1}' | sort -u
}

echo "1..3"
if ! echo '#include <sys/sdt.h>' | ${CC:-cc} -fsyntax-only -x c - 2>/dev/null || ! command -v readelf >/dev/null; then
  printf 'ok %s # SKIP no sys/sdt.h, or no readelf\n' 1 2 3
  exit 0
fi
have=$({ probes "$build/libglusterish/.libs/libglusterish.so" && probes "$build/rpc/.libs/libgirpc.so"; } | sort -u)
[ "$(cut -d' ' -f1 <<<"$have" | sort -u)" = "$named" ] || printf 'not '
echo "ok 1 - every probe of usdt.h is in a library, and no other"
printf '%s\n' "$have" | sed 's/^/# /'
[ "$have" = "call_receive 5
call_send 5
enter 3
leave 4
reply_receive 5
reply_send 5" ] || printf 'not '
echo "ok 2 - they have the arguments that usdt.h says"
[ -z "$(comm -13 <(echo "$named") <(echo "$used"))" ] && [ "$used" = "$named" ] || printf 'not '
echo "ok 3 - the examples use them all, and no others"
