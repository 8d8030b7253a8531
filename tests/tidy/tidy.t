#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# House rules that a script can check: sizes, banned calls, the direction of includes, completeness of translators.
set -u
cd "${GLUSTERISH_SRCDIR:?}" || exit 1
. "${GLUSTERISH_SRCDIR:?}/tests/tap.sh"

sources() { find libglusterish rpc xlators programs tests -name '*.[ch]' 2>/dev/null | sort; }
product() { sources | grep -vE '^tests/|/testing/|_test\.c$'; }

echo "1..14"
none "every file is formatted as .clang-format says" "$(sources | xargs clang-format-14 --dry-run 2>&1 | grep -E 'warning|not found' | cut -d: -f1,2 | sort -u)"
none "no file has more than 800 lines" "$(sources | xargs wc -l | awk '$2 != "total" && $1 > 800 {print $2 ": " $1}')"
none "every file names its licence" "$(sources | while read -r f; do head -n 3 "$f" | grep -q 'SPDX-License-Identifier: Apache-2.0' || echo "$f"; done)"
none "no function has more than 80 lines" "$(sources | grep '\.c$' | xargs awk 'FNR == 1 {start = 0} /^{/ {start = FNR} /^}/ {if (start && FNR - start > 80) print FILENAME ":" start ": " FNR - start " lines"; start = 0}')"
none "nothing is left to do" "$(product | xargs grep -nE '\b(TODO|FIXME|XXX)\b')"
none "only the reactor and the log ask the clock, sleep or draw random numbers" "$(product |
  grep -vE '^libglusterish/(reactor|worker)|^programs/' | xargs grep -nE '\b(clock_gettime|gettimeofday|time\(NULL\)|nanosleep|usleep|sleep\(|getrandom|rand\(|random\(|uuid_generate)' | grep -vE 'gi_random\(')"
none "only the reactor makes threads" "$(product | grep -vE '^libglusterish/(reactor|worker|payload|log)' | xargs grep -nE '\bpthread_(create|mutex|cond|rwlock)')"
none "no unbounded string functions" "$(product | xargs grep -nE '\b(strcpy|strcat|sprintf|vsprintf|gets|alloca)\(')"
none "the core includes nothing above it" "$(grep -nE '#include "(rpc|xlators|programs|tests)/' libglusterish/*.[ch] | grep -v _test.c)"
none "rpc includes only the core" "$(grep -nE '#include "(xlators|programs|tests)/' rpc/*.[ch] | grep -v _test.c)"
none "programs share only what is meant to be shared" "$(for d in programs/*/; do
  grep -rnE --include='*.[ch]' '#include "programs/' "$d" | grep -vE "\"($d|programs/common/|programs/glusterishfs/process\.h)"
done)"
none "the layers of the management daemon: what is known < processes < operations" "$(
  grep -n '#include "programs/glusterishd/' programs/glusterishd/model/*.[ch] | grep -vE '_test\.c:|/model/'
  grep -n '#include "programs/glusterishd/' programs/glusterishd/proc/*.[ch] | grep -vE '"programs/glusterishd/(model|proc)/')"
none "a translator includes no other translator and no program" "$(for d in xlators/*/*/; do
  find "$d" -name '*.[ch]' -exec grep -HnE '#include "(xlators|programs)/' {} + | grep -v "\"$d"
done)"
none "every translator has a README, a test and a line in the list" "$(for d in xlators/*/*/; do
  d=${d%/}
  name=${d##*/}
  [ -f "$d/README.md" ] || echo "$d: no README.md"
  ls "$d"/*_test.c >/dev/null 2>&1 || echo "$d: no unit test"
  grep -q "include $d/Makefile.inc" xlators/Makefile.inc || echo "$d: not in xlators/Makefile.inc"
  grep -q "${name}_test" "$d/Makefile.inc" || echo "$d: its test is not run"
done)"
