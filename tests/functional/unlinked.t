#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A file that was removed while it is open: it goes on through restarts of all bricks, one after the other.
. "$(dirname "$0")/heal.sh"
require_root
require_fuse
start_glusterishd
must "a volume starts" start_heal_volume

exec 7<>"$M/temporary"
printf precious >&7
rm "$M/temporary"
goes_on() {
  python3 -c 'import os; os.pwrite(7, b"Z", 20); os.fsync(7); raise SystemExit(os.pread(7, 8, 0) != b"precious")'
}
ok "a removed file goes on" goes_on
for n in 1 2 3; do
  if [ "$n" = 2 ]; then end=end_brick; else end=kill_brick; fi
  ok "brick $n goes" "$end" "$n"
  ok "it comes back" brick_back
  ok "the copies are equal" within 20 all_healed
  ok "the file goes on" goes_on
done
gone() { [ -z "$(find "$B"/h-*/.glusterfs/unlink -type f)" ]; }
nok "its data are there" gone
exec 7>&-
ok "it goes when it is closed" within 10 gone
done_testing
