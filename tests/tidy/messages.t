#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The number of a message stands for one message: what is said too often is limited by its number. One file may say a thing in several ways.
cd "${GLUSTERISH_SRCDIR:?}" || exit 1

# "NUMBER FILE TEXT" of every message that is written as base, number and text. A file may call its first number MSG.
messages() {
  find libglusterish rpc xlators programs -name '*.c' ! -name '*_test.c' | sort | while read -r f; do
    read -r base first < <(sed -nE 's/^#define MSG \((GI_MSG_[A-Z_]+) \+ ([0-9]+)\).*/\1 \2/p' "$f")
    tr '\n' ' ' <"$f" | grep -oE '\b(GI_MSG_[A-Z_]+|MSG)( \+ [0-9]+)?, *"[^"]*"' | awk -v f="$f" -v base="${base:-}" -v first="${first:-0}" '{
      text = number = $0
      sub(/^[^"]*/, "", text)
      sub(/,.*/, "", number)
      split(number, part, / \+ /)
      if (part[1] == "MSG") {part[1] = base; part[2] += first}
      print part[1] "+" part[2] + 0, f, text
    }'
  done
}

twice=$(messages | awk '{number = $1; file = $2; text = substr($0, length($1) + length($2) + 3)}
  number in first && where[number] != file && first[number] != text {print number ": " text " in " file ", " first[number] " in " where[number]}
  !(number in first) {first[number] = text; where[number] = file}')
echo "1..2"
[ "$(messages | wc -l)" -gt 100 ] || printf 'not '
echo "ok 1 - messages are seen"
[ -z "$twice" ] || printf 'not '
echo "ok 2 - no two files give one number to two messages"
[ -z "$twice" ] || printf '%s\n' "$twice" | sed 's/^/# /'
