#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The self-heal daemon heals names: whatever was created, removed, renamed or linked while a brick was away, and what a full crawl
# finds that no mark tells of.
. "$(dirname "$0")/heal.sh"
require_root
require_fuse
start_glusterishd
must "a volume starts" start_heal_volume
ok "its self-heal daemon runs" within 20 shd_runs

mkdir -p "$M"/tree/{a,b}/{1,2,3} "$M"/{goes/with/all,moves,swap,target}
for d in tree/a/1 tree/b/3 goes/with moves; do for i in $(seq 10); do echo "$d $i" >"$M/$d/f$i"; done; done
echo one >"$M/one"
echo two >"$M/two"
echo victim >"$M/victim"
ln "$M/one" "$M/one-more"
ln -s one "$M/link"
echo file >"$M/becomes-dir"
mkdir "$M/becomes-file"
ok "the copies are equal at first" within 20 all_healed

changes() {
  mkdir -p "$M"/new/deep/er && echo new >"$M/new/deep/er/file" && head -c 100000 /dev/urandom >"$M/new/data"
  for i in $(seq 100); do echo "$i" >"$M/new/n$i"; done
  ln -s ../one "$M/new/symlink"
  mkfifo "$M/new/fifo"
  mknod "$M/new/null" c 1 3
  chmod 1777 "$M/new/deep"
  setfattr -n user.colour -v blue "$M/new/data"
  rm -r "$M/goes"
  mv "$M/tree/a/1" "$M/moves/one"          # a directory with files, somewhere else
  mv "$M/tree" "$M/forest"                 # and a deep tree
  mv "$M/two" "$M/victim"                  # over a file
  mv "$M/swap" "$M/target"                 # over an empty directory, or into it
  ln "$M/one" "$M/moves/third-name"
  rm "$M/one-more"
  rm "$M/becomes-dir" && mkdir "$M/becomes-dir" && echo inside >"$M/becomes-dir/x"
  rmdir "$M/becomes-file" && echo file >"$M/becomes-file"
  echo temporary >"$M/temporary" && rm "$M/temporary"
  rm "$M/link" && ln -s victim "$M/link"
  chmod 700 "$M/moves"
}

ok "a brick is killed" kill_brick 2
changes
nok "now they differ" all_healed
moved=$(stat -c %i "$B/h-2/tree/b/3/f1")
ok "the brick comes back" brick_back
heals 60 "everything is healed"
is "$(stat -c %i "$B/h-2/forest/b/3/f1")" "$moved" "what was renamed is moved, not copied"
ok "handles are complete" handles_complete "$B/h-2"

# ---- while an application creates and removes ----
ok "another brick is killed" kill_brick 1
mkdir "$M/many" && for i in $(seq 150); do echo "$i" >"$M/many/$i"; done
ok "it comes back" brick_back
for i in $(seq 60); do
  echo "$i" >"$M/many/later-$i" && rm "$M/many/$i" && mv "$M/many/$((i + 60))" "$M/many/moved-$i" || break
done
is "$i" 60 "work goes on meanwhile"
heals 60 "everything is healed again"

# ---- behind the brick's back: no mark tells of it ----
gone=$B/h-3/forest/b/3/f2
handle=$(getfattr --absolute-names -n trusted.gfid -e hex "$gone" | sed -n 's/.*=0x\(..\)\(..\)\(....\)\(....\)\(....\)\(....\)\(.*\)/\1\/\2\/\1\2\3-\4-\5-\6-\7/p')
rm "$gone" "$B/h-3/.glusterfs/$handle"
chmod 640 "$B/h-3/one"
ok "a full heal is ordered" gi volume heal h full
heals 60 "the full crawl finds and heals it"

# ---- what is told of all that ----
out=$(gi volume heal h statistics)
like "$out" 'Type of crawl: FULL' "the history knows the full crawl"
like "$out" 'Type of crawl: INDEX' "and those of the index"
like "$out" 'No. of entries healed: [1-9]' "something was healed"
like "$(gi volume heal h statistics heal-count)" 'Number of entries: 0' "nothing is left"
done_testing
