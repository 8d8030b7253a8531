#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Split brains of data, metadata, gfid and type: each is found, told, never served, and resolved by every command and policy.
. "$(dirname "$0")/lib.sh"
require_root
require_fuse

start_glusterishd || exit 1
B=$WORK/bricks
M=$WORK/mnt
V=s # the volume under test

connected() { [ "$(gi volume heal "$V" info 2>/dev/null | grep -c '^Status: Connected$')" = "$1" ]; }
# all_up COUNT: every brick runs.
all_up() {
  gi volume start "$V" force >/dev/null
  within 30 connected "$1"
}
# only N COUNT FUNCTION: runs it in a mount that sees brick N of COUNT only.
only() {
  local n=$1 count=$2 i
  shift 2
  for i in $(seq "$count"); do [ "$i" = "$n" ] || kill -9 "$(brick_pid "$V" "$B/$V-$i")"; done
  mount_volume "$V" "$M" || return 1
  (cd "$M" && "$@") || return 1
  unmount "$M"
  within 10 not_mounted "$M" && all_up "$count"
}
not_mounted() { ! mountpoint -q "$1"; }
# error COMMAND...: what it says, in the mount.
error() { (cd "$M" && "$@" 2>&1 >/dev/null); }
info() { gi volume heal "$V" info | sed -n "/:${B//\//\\/}\/$V-$1\$/,/^\$/p"; }
healed() { [ "$(gi volume heal "$V" info | sed -n 's/^Number of entries: //p' | sort -u)" = 0 ]; }
splits() { gi volume heal "$V" info split-brain | sed -n "/:${B//\//\\/}\/$V-$1\$/,/^\$/p" | sed -n 's/^Number of entries in split-brain: //p'; }
same() { cmp -s "$B/$V-1/$1" "$B/$V-2/$1"; }

# ---- replica 2 without quorum: both sides written to while the other was away ----
must "a volume of two copies" start_volume $V 2
gi volume set $V cluster.self-heal-daemon off >/dev/null
gi volume set $V cluster.quorum-type none >/dev/null
DATA="big late src whole choice"
prepare() {
  mkdir dir types
  for f in $DATA meta same; do echo start >"$f"; done
}
side_one() {
  for f in $DATA; do echo "the longer text of brick one" >"$f"; done
  echo 1 >same
  chmod 600 meta
  echo "gfid of brick one, longer" >dir/gfid
  echo "gfid of brick one, longer" >dir/gfid-src
  mkdir types/t types/u
  echo "in it" >types/t/file
  echo "a file" >types/w
}
side_two() {
  for f in $DATA; do echo "brick two" >"$f"; done
  echo 2 >same
  chmod 640 meta
  echo "gfid of brick two" >dir/gfid
  echo "gfid of brick two" >dir/gfid-src
  for f in t u; do echo "a file" >types/$f; done
  ln -s t types/w
}
must "it is mounted" mount_volume $V "$M"
must "files are there" eval '(cd "$M" && prepare)'
unmount "$M"
must "one side is written to" only 1 2 side_one
must "then the other" only 2 2 side_two

# ---- told ----
for f in $DATA same meta; do like "$(info 1)" "^/$f - Is in split-brain\$" "info tells $f"; done
like "$(info 2)" '^/dir - Is in split-brain$' "and the directory whose name has two gfids"
is "$(splits 1)" "$(info 1 | grep -c ' - Is in split-brain$')" "info split-brain counts the same"
like "$(gi volume heal $V info summary)" '^Number of entries in split-brain: [1-9]' "and info summary"
is "$(gi --json volume heal $V info | grep -c '"state": "split-brain"')" "$(gi volume heal $V info | grep -c 'Is in split-brain$')" "and JSON"

# ---- never served ----
must "it is mounted again" mount_volume $V "$M"
for f in $DATA same; do like "$(error cat $f)" 'Input/output error' "$f is not read"; done
like "$(error cat meta)" 'Input/output error' "nor a file whose owner and mode are in doubt"
like "$(error cat dir/gfid)" 'Input/output error' "nor a name of two files"
like "$(error ls types/t)" 'Input/output error' "nor one of a file and a directory"
nok "and nothing is written" bash -c 'echo more >>"$1"' - "$M/big"

# ---- refused ----
says() {
  local status=$1 text=$2 got
  shift 2
  run "$@"
  got=$?
  is "$got:$OUTPUT" "$status:$text" "$(printf '%s ' "${@//$WORK/.}")"
}
split() { gi volume heal $V split-brain "$@"; }
S=$HOST:$B/$V
says 1 $'Healing /same failed: No bigger file.\nVolume heal failed.' split bigger-file /same
says 1 $'Healing /meta failed: Use source-brick option to heal metadata split-brain.\nVolume heal failed.' split bigger-file /meta
says 1 $'Healing /meta failed: Use source-brick option to heal metadata split-brain.\nVolume heal failed.' split latest-mtime /meta
is "$(splits 1)" "$(info 1 | grep -c ' - Is in split-brain$')" "what was refused changed nothing"
kill -9 "$(brick_pid $V "$B/$V-2")"
nok "with a brick away nothing is decided" split bigger-file /big
ok "all are back" all_up 2

# ---- resolved by command ----
says 0 "Healed /big." split bigger-file /big
is "$(cat "$B/$V-1/big")" "the longer text of brick one" "the bigger copy won"
ok "on both bricks" same big
says 0 "Healed /late." split latest-mtime /late
is "$(cat "$B/$V-1/late")" "brick two" "the latest copy won"
ok "on both bricks" same late
says 0 "Healed /src." split source-brick "$S-2" /src
is "$(cat "$B/$V-1/src")" "brick two" "the copy of the brick won"
says 0 "Healed /meta." split source-brick "$S-1" /meta
is "$(stat -c %a "$B/$V-2/meta")" 600 "its mode too"
says 1 $'Healing /big failed: File not in split-brain.\nVolume heal failed.' split bigger-file /big
like "$(split bigger-file /dir/gfid)" '^GFID split-brain resolved for file /dir/gfid$' "a name of two files"
is "$(cat "$B"/$V-[12]/dir/gfid | sort -u)" "gfid of brick one, longer" "goes to the bigger one"
like "$(split source-brick "$S-2" /dir/gfid-src)" '^GFID split-brain resolved for file /dir/gfid-src$' "or to that of a brick"
is "$(cat "$B"/$V-[12]/dir/gfid-src | sort -u)" "gfid of brick two" "with its contents"
for how in bigger-file latest-mtime; do nok "a file and a directory are not decided between by $how" split $how /types/t; done
like "$(info 1)" '^/types - Is in split-brain$' "and stay in split brain"
like "$(split source-brick "$S-1" /types/t)" '^GFID split-brain resolved for file /types/t$' "but by whoever names the brick"
types() { stat -c %F "$B/$V-1/types/$1" "$B/$V-2/types/$1" | sed 's/ empty//' | sort -u; }
is "$(types t)" directory "both have the directory"
like "$(split source-brick "$S-2" /types/u)" '^GFID split-brain resolved for file /types/u$' "or the file"
is "$(types u)" "regular file" "both have the file"
like "$(split source-brick "$S-1")" '^Number of healed entries: [1-9]' "the rest goes to one brick"
is "$(cat "$B/$V-2/whole")" "the longer text of brick one" "with its contents"
is "$(types w)" "regular file" "and types"
unmount "$M"
must "it is mounted again" mount_volume $V "$M"
for f in $DATA same meta dir/gfid dir/gfid-src types/t/file types/u types/w; do ok "$f is served" cat "$M/$f"; done
is "$(cat "$M"/types/{t/file,u,w})" $'in it\na file\na file' "with what was chosen"
unmount "$M"

unmount "$M"
# ---- resolved by policy ----
# policy NAME WINNER: a fresh split brain, and the self-heal daemon with that policy.
policy() {
  local policy=$1 winner=$2 before
  V=$3
  before=$(cat "$B/$V-$winner/$policy")
  gi volume set "$V" cluster.favorite-child-policy "$policy" >/dev/null
  gi volume set "$V" cluster.self-heal-daemon on >/dev/null
  within 20 shd_up "$V"
  gi volume heal "$V" >/dev/null
  settled() { [ "$(cat "$B/$V"-*/"$policy" | sort -u)" = "$before" ]; }
  ok "$policy resolves for the right copy" within 30 settled
  gi volume set "$V" cluster.self-heal-daemon off >/dev/null
  gi volume reset "$V" cluster.favorite-child-policy >/dev/null
}
shd_up() { gi volume status "$1" shd 2>/dev/null | grep -q ' Y '; }
V=p
must "another volume" start_volume $V 2
gi volume set $V cluster.self-heal-daemon off >/dev/null
gi volume set $V cluster.quorum-type none >/dev/null
policies="size mtime ctime"
write_all() { for f in $policies; do echo "$1" >"$f"; done; }
mount_volume $V "$M" && (cd "$M" && write_all start)
unmount "$M"
must "one side" only 1 2 write_all "a longer text"
must "the other" only 2 2 write_all "later"
is "$(splits 1)" 3 "three files are in split brain"
policy size 1 $V
gi volume set $V cluster.favorite-child-policy none >/dev/null
policy mtime 2 $V
policy ctime 2 $V
V=q
must "a volume of three copies" start_volume $V 3
gi volume set $V cluster.self-heal-daemon off >/dev/null
mount_volume $V "$M" && (cd "$M" && echo same >majority)
unmount "$M"
# Every brick blames the others; two of them agree in size and time.
blame() {
  local i j gfid
  for i in 1 2 3; do
    for j in 1 2 3; do
      [ $i = $j ] || setfattr -n "trusted.afr.$V-client-$((j - 1))" -v 0x000000010000000000000000 "$B/$V-$i/$1"
    done
    gfid=$(getfattr --absolute-names -n trusted.gfid -e hex "$B/$V-$i/$1" 2>/dev/null | sed -nE 's/.*=0x(.{8})(.{4})(.{4})(.{4})(.*)/\1-\2-\3-\4-\5/p')
    : >"$B/$V-$i/.glusterfs/indices/xattrop/$gfid"
  done
}
echo "odd one out" >"$B/$V-3/majority"
touch -r "$B/$V-1/majority" "$B/$V-2/majority"
blame majority
is "$(splits 1)" 1 "marks made on the bricks are a split brain"
mount_volume $V "$M"
like "$(error cat majority)" 'Input/output error|Transport endpoint is not connected' "which is not served"
unmount "$M"
policy majority 1 $V
is "$(cat "$B/$V-3/majority")" same "the odd one out was overruled"
done_testing
