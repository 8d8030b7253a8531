# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# A tree with all that leaves linkto files, and what is compared of it.

make_tree() {
  local t=$1 i long
  mkdir -p "$t/sub/deep" "$t/.hid"
  for i in $(seq 30); do echo "$i" >"$t/f$i"; done
  for i in $(seq 10); do mv "$t/f$i" "$t/moved-$i"; done
  for i in 11 12 13 14 15; do ln "$t/f$i" "$t/link-$i"; done
  for i in 16 17 18 19 20; do mv "$t/f$i" "$t/f$((i + 5))"; done
  for i in $(seq 8); do echo "$i" >"$t/sub/deep/.rsync-$i.Xy1Ab" && mv "$t/sub/deep/.rsync-$i.Xy1Ab" "$t/sub/deep/rsync-$i"; done
  ln -s f1 "$t/symlink"
  mv "$t/sub/deep" "$t/deep2"
  rm "$t/f26" "$t/moved-1"
  chmod 0751 "$t/deep2"
  # Names of many lengths, of all bytes, and a directory whose path is longer than a byte counts.
  long=$(printf 'n%.0s' $(seq 120))
  mkdir -p "$t/names/$long/$long/$long"
  python3 - "$t/names" <<'PY'
import os, sys
top = os.fsencode(sys.argv[1])
for n in list(range(1, 70)) + [128, 254, 255]:
    name = bytes((7 * n + 3 * i) % 255 + 1 for i in range(n)).replace(b"/", b"_")
    open(top + b"/" + (b"x" if name in (b".", b"..") else name), "w").close()
PY
}

contents() { (cd "$1" && find . -type f -print0 | LC_ALL=C sort -z | xargs -0r md5sum && find . -printf '%y %m %n %p\n' | grep -av ' \.$' | LC_ALL=C sort -k4); }
