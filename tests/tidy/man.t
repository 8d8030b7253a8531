#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The man pages describe every option of the programs, and none that does not exist.
set -u
src=${GLUSTERISH_SRCDIR:?}
build=${GLUSTERISH_BUILDDIR:?}
. "${GLUSTERISH_SRCDIR:?}/tests/tap.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

skip() {
  n=$((n + 1))
  echo "ok $n - $1 # SKIP $2"
}

# A page without its markup.
plain() { sed -e 's/\\-/-/g' -e 's/\\f[BIRP]//g' "$src/doc/$1.8"; }
# Long options in a page: those that are set in bold as a tag.
documented() { sed 's/\\-/-/g' "$src/doc/$1.8" | grep -oE '\\fB--[a-z0-9-]+' | sed 's/\\fB//' | sort -u; }
long_options() { grep -oE -- '--[a-z0-9][a-z0-9-]*' | sort -u; }

# same PROGRAM KNOWN: both files of options, one difference per line.
same() {
  documented "$1" >"$work/page"
  comm -23 "$2" "$work/page" | sed 's/$/ is not in the page/'
  comm -13 "$2" "$work/page" | sed 's/$/ does not exist/'
}

with_help() {
  "$build/$2" --help >"$work/help" 2>&1
  long_options <"$work/help" >"$work/known"
  none "$1.8: options" "$(same "$1" "$work/known")"
}

# The command line tool has no list of its options to print, as the original has none.
command_line_tool() {
  grep -oE '"--[a-z0-9-]+[="]' "$src/programs/glusterish/main.c" | tr -d '"=' | sort -u >"$work/known"
  grep -ohE '\[--[a-z0-9-]+' "$src/programs/glusterish/words.c" | tr -d '[' | sort -u - "$work/known" -o "$work/known"
  grep -oE '"--mode=' "$src/programs/glusterish/main.c" >/dev/null && echo --mode | sort -u - "$work/known" -o "$work/known"
  none "glusterish.8: options" "$(same glusterish "$work/known")"
  plain glusterish >"$work/plain"
  none "glusterish.8: commands" "$("$build/programs/glusterish/glusterish" help all |
    sed -nE 's/^(((volume|peer|pool|system::|global)( [a-z]+)+).*|([a-z]+) [<[].*)/\2\5/p' | sort -u | while read -r command; do
    grep -qF "$command" "$work/plain" || echo "$command is not in the page"
  done)"
}

mount_helper() {
  helper=$build/programs/mount/mount.glusterish
  if [ ! -x "$helper" ]; then
    skip "mount.glusterish.8: options of the helper" "not built"
    skip "mount.glusterish.8: nothing invented" "not built"
    return
  fi
  plain mount.glusterish >"$work/plain"
  none "mount.glusterish.8: options of the helper" "$("$helper" --help | sed -n '/^Options/,/^and /p' | sed -e '1d' -e '$d' |
    tr -s ' ' '\n' | sed 's/[=[].*//' | grep . | while read -r option; do
    grep -qE "(^|[^a-z-])$option([^a-z-]|\$)" "$work/plain" || echo "$option is not in the page"
  done)"
  mkdir "$work/mnt"
  none "mount.glusterish.8: nothing invented" "$(sed -n '/^.SH MOUNT OPTIONS/,/^.SH ENV/p' "$src/doc/mount.glusterish.8" |
    sed 's/\\-/-/g' | grep -oE '\\fB[a-z0-9-]+\\fR(\[?=)?' | sed -e 's/\\f[BR]//g' -e 's/\[//' |
    grep -vE '^(tcp|enable|disable)$' | while read -r option; do
    case $option in *=) option=${option}1 ;; esac
    MOUNT_GLUSTERISH_DRY_RUN=1 "$helper" host:/vol "$work/mnt" -o "$option" 2>&1 | grep -i 'invalid option'
  done)"
}

echo "1..8"
none "pages are well-formed" "$(command -v man >/dev/null && for f in "$src"/doc/*.8; do
  man --warnings=all -l "$f" 2>&1 >/dev/null
done)"
with_help glusterishfs programs/glusterishfs/glusterishfs
with_help glusterishd programs/glusterishd/glusterishd
with_help glusterish-heal programs/heal/glusterish-heal
command_line_tool
mount_helper
