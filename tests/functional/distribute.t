#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One name space over four plain bricks: where files, linkto files and layouts are, and that a tree behaves as on one.
. "$(dirname "$0")/lib.sh"
require_root
require_fuse
make_work
pick_ports 4
end_all() {
  local pids
  mapfile -t pids < <(own_pids "$WORK"/*.pid)
  end_processes "${pids[@]}"
}
trap 'end_all; cleanup' EXIT
M=$WORK/mnt
MOUNTS+=("$M")
mkdir -p "$WORK"/b{1,2,3,4} "$M"

mount_it() {
  "$GLUSTERISHFS" -l "$WORK/mount.log" -f "$WORK/client.vol" -p "$WORK/mount.pid" "$M" && within 10 grep -q " $M fuse" /proc/mounts
}
layout() { getfattr -h --absolute-names --only-values -n trusted.glusterfs.dht "$1" 2>/dev/null | od -An -tx1 | tr -d ' \n'; }
linkto() { getfattr -h --absolute-names --only-values -n trusted.glusterfs.dht.linkto "$1" 2>/dev/null | tr -d '\0'; }
holders() { (cd "$WORK" && for b in b1 b2 b3 b4; do [ -e "$b/$1" ] || [ -L "$b/$1" ] && printf '%s ' $b; done); }

for n in 1 2 3 4; do must "brick $n serves" plain_brick $n; done
plain_client 1 2 3 4 >"$WORK/client.vol"
must "the volume is mounted" mount_it

# ---- layouts and places ----

is "$(for n in 1 2 3 4; do layout "$WORK/b$n"; echo; done | cut -c 17- | sort | tr '\n' ' ')" \
  "000000003ffffffe 3fffffff7ffffffd 7ffffffebffffffc bffffffdffffffff " "the root has a layout that covers all hashes"
ok "a directory is made" mkdir "$M/d"
is "$(holders d)" "b1 b2 b3 b4 " "on all"
is "$(for n in 1 2 3 4; do layout "$WORK/b$n/d"; echo; done | cut -c 17- | sort | tr '\n' ' ')" \
  "000000003ffffffe 3fffffff7ffffffd 7ffffffebffffffc bffffffdffffffff " "with a layout"
is "$(for n in 1 2 3 4; do getfattr -h --absolute-names -n trusted.glusterfs.dht.mds "$WORK/b$n/d" 2>/dev/null | grep -c mds; done | sort | uniq -c | tr -s ' \n' ' ')" \
  " 3 0 1 1 " "and the mark of the one that counts"
for i in $(seq 40); do echo "$i" >"$M/d/f$i"; done
is "$(for i in $(seq 40); do holders "d/f$i" | wc -w; done | sort -u)" 1 "a file is on one brick"
is "$(for n in 1 2 3 4; do [ "$(ls "$WORK/b$n/d" | wc -l)" -gt 3 ] && echo yes; done | wc -l)" 4 "and they are spread"
is "$(ls "$M/d" | sort -V | tr '\n' ' ')" "$(seq -f f%g -s ' ' 40) " "a listing shows each once"
is "$(cat "$M"/d/f* | sort -n | tr '\n' ' ')" "$(seq -s ' ' 40) " "and each can be read"
nok "a name that is not there is not there" ls "$M/d/none"

# ---- renames and links ----

for i in $(seq 40); do mv "$M/d/f$i" "$M/d/g$i" || break; done
is "$(ls "$M/d" | sort -V | tr '\n' ' ')" "$(seq -f g%g -s ' ' 40) " "files are renamed"
is "$(cat "$M"/d/g* | sort -n | tr '\n' ' ')" "$(seq -s ' ' 40) " "and keep their contents"
is "$(ls "$WORK"/b?/d | grep -c '^f')" 0 "nothing is left of the old names"
T=$(for f in "$WORK"/b?/d/*; do [ "$(stat -c %a "$f")" = 1000 ] && echo "$f"; done | head -1)
like "$(linkto "$T")" '^t-client-[0-3]$' "a linkto file leads to a file that belongs elsewhere"
is "$(for i in $(seq 40); do echo "new $i" >"$M/d/h$i" && mv "$M/d/h$i" "$M/d/g$i" || break; done; cat "$M"/d/g* | sort -V | head -40 | tr '\n' ' ')" \
  "$(seq -f 'new %g' -s ' ' 40) " "files are renamed over others"
is "$(ls "$M/d" | wc -l)" 40 "and replace them"
is "$(find "$WORK"/b?/d -type f ! -perm 1000 | wc -l)" 40 "on the bricks too"
for i in $(seq 20); do ln "$M/d/g$i" "$M/d/l$i" || break; done
is "$(cat "$M"/d/l* | sort -V | tr '\n' ' ')" "$(seq -f 'new %g' -s ' ' 20) " "hard links are made"
is "$(stat -c %h "$M/d/l1")" 2 "and counted"
ok "they are removed" rm "$M"/d/l*
ok "a symbolic link" ln -s d/g1 "$M/link"
is "$(cat "$M/link")" "new 1" "leads to its target"

# ---- attributes that nobody can have written ----

X=$M/damaged
mkdir "$X"
for i in $(seq 20); do echo "$i" >"$X/f$i" && mv "$X/f$i" "$X/g$i" || break; done
was=$(cd "$X" && md5sum g* | sort -k2)
set_on() { setfattr -h -n "trusted.glusterfs.dht$1" -v "$2" "${@:3}"; }
mapfile -t linktos < <(find "$WORK"/b?/damaged -type f -perm 1000)
home_of() { n=${1#"$WORK/b"} && echo "t-client-$((${n%%/*} - 1))"; }
for damage in 0x00 0x00000000000000070000000000000000ffffffff 0x000000000000000100000000ffffffff 0x00000000000000000000000000000000 0x0000000000000000ffffffff00000000; do
  unmount "$M"
  set_on '' $damage "$WORK/b1/damaged"
  set_on .mds 0x80000000 "$WORK"/b?/damaged
  set_on .linkto "$(home_of "${linktos[0]}")" "${linktos[0]}" # to itself
  set_on .linkto nobody "${linktos[@]:1}"
  must "it is mounted again" mount_it
  for i in $(seq 20); do cat "$X/g$i" >/dev/null; done # by name, not from a listing
  is "$(cd "$X" && md5sum g* | sort -k2)" "$was" "every file is there with a layout of $damage"
  is "$(ls "$X" | wc -l)" 20 "and once"
done
is "$(for n in 1 2 3 4; do layout "$WORK/b$n/damaged"; echo; done | cut -c 17- | sort | tr '\n' ' ')" \
  "000000003ffffffe 3fffffff7ffffffd 7ffffffebffffffc bffffffdffffffff " "the directory has a layout that covers all hashes"
is "$(for f in "${linktos[@]}"; do linkto "$f" && echo; done | grep -vc '^t-client-[0-3]$')" 0 "and its linkto files lead somewhere"
ok "it goes" rm -r "$X"

# ---- directories ----

ok "a tree" mkdir -p "$M/a/b/c/e"
echo deep >"$M/a/b/c/e/file"
ok "is renamed" mv "$M/a/b" "$M/d/b2"
is "$(cat "$M/d/b2/c/e/file")" deep "with what is in it"
is "$(holders a/b)" "" "on all bricks"
ok "its attributes change" chmod 0700 "$M/d/b2"
is "$(stat -c %a "$WORK"/b?/d/b2 | sort -u)" 700 "on all bricks"
ok "extended ones too" setfattr -n user.a -v 1 "$M/d/b2"
is "$(getfattr --absolute-names --only-values -n user.a "$M/d/b2")" 1 "and are told"
is "$(getfattr -h --absolute-names -n user.a "$WORK"/b?/d/b2 2>/dev/null | grep -c user.a)" 4 "on all bricks"
nok "a directory that is not empty stays" rmdir "$M/d/b2"
is "$(holders d/b2)" "b1 b2 b3 b4 " "on all"

# ---- one that is down, and what it missed ----

belongs_to() { local i; for i in $(seq 200); do touch "$M/d/$2$i" && [ -e "$WORK/b$1/d/$2$i" ] && echo "$2$i" && return; done; }
DOWN=$(belongs_to 2 p) UP=$(belongs_to 1 q)
mkdir "$M"/d/keep{1,2,3,4,5,6}
kill -9 "$(cat "$WORK/b2.pid")" && within 10 not_running "$(cat "$WORK/b2.pid")"
enotconn() { LC_ALL=C "$@" 2>&1 | grep -q 'not connected'; }
ok "a file of a brick that is down cannot be read" within 10 enotconn cat "$M/d/$DOWN"
ABSENT=$(for i in $(seq 100); do enotconn ls "$M/d/absent$i" && echo yes && break; done)
is "$ABSENT" yes "nor is a name told to be absent that may be there"
ok "a file of another one can" cat "$M/d/$UP"
ok "a listing fails" enotconn ls "$M/d"
HOME1=$(for i in $(seq 50); do mkdir "$M/d/made$i" 2>/dev/null && echo "made$i" && break; done)
ok "a directory is made on those that are up" test -d "$WORK/b1/d/$HOME1"
nok "and is missing on the one that is down" test -d "$WORK/b2/d/$HOME1"
nok "none is removed" rmdir "$M/d/keep1"
CHANGED=
for k in 1 2 3 4 5 6; do chmod 0711 "$M/d/keep$k" 2>/dev/null && setfattr -n user.late -v 2 "$M/d/keep$k" && CHANGED="$CHANGED $k"; done
like "$CHANGED" ' [1-6]' "attributes change where the subvolume that counts is up"
ok "the brick comes back" plain_brick 2
ok "and with it its files" within 10 cat "$M/d/$DOWN"
ok "the listing is whole" ls -lR "$M/d"
ok "the directory is made where it was missing" within 10 sh -c "stat '$M/d/$HOME1' && test -d '$WORK/b2/d/$HOME1'"
whole_layout() { [ "$(for n in 1 2 3 4; do layout "$WORK/b$n/d/$HOME1" | wc -c; done | sort -u)" = 32 ]; }
ok "with its part of the layout" within 10 whole_layout
same() {
  local k want late
  for k in 1 2 3 4 5 6; do
    want=755 late=0
    case "$CHANGED " in *" $k "*) want=711 late=4 ;; esac
    stat "$M/d/keep$k" >/dev/null && [ "$(stat -c %a "$WORK"/b?/d/keep$k | sort -u)" = $want ] || return 1
    [ "$(getfattr -h --absolute-names -n user.late "$WORK"/b?/d/keep$k 2>/dev/null | grep -c user.late)" = $late ] || return 1
  done
}
ok "attributes are the same on all" within 10 same

like "$(df --output=size "$M" | tail -1)" '^ *[0-9]+$' "the sizes of all bricks are added up"
ok "all goes" rm -rf "$M/d" "$M/a" "$M/link"
is "$(ls "$WORK"/b1 "$WORK"/b2 "$WORK"/b3 "$WORK"/b4 | grep -vc '^/\|^$')" 0 "from the bricks too"
ok "the mount ends" unmount "$M"
done_testing
