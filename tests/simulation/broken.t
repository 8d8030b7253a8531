#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Does the simulator find bugs? Each bug that was put in on purpose (GI_BROKEN, libglusterish/mutants.h) must be caught: an invariant
# fails that holds without it. Each has the workload and the mishaps that catch it soonest, and the first seed from 1 on that did when
# it was written down, without layers for speed unless the options name some; if that does not catch it any more (any change of code
# makes other histories), all from 1 to 500 are tried.
set -u
RUN="${GLUSTERISH_BUILDDIR:?}/tests/simulation/run"
SEEDS=500
NEAR=10
. "${GLUSTERISH_SRCDIR:?}/tests/tap.sh"

# BUG|SEED|OPTIONS
table() {
  cat <<'END'
accept an old layout|147|--workload moved --mishaps client-freeze
acknowledge before quorum|1|--workload register --mishaps none
answer before those who failed are blamed|2|--workload register --mishaps disk-faults,brick-crash,partition
believe in locks that a majority dropped|103|--workload locks --mishaps cut,brick-crash
believe names for longer than a lease|1|--workload names --layers nl-cache --mishaps none
believe that a name is absent which was made|1|--workload names --layers nl-cache --mishaps none
bring back what good copies lack|25|--workload names --mishaps cut
bring data to the disk before its counters|87|--workload synced --mishaps power-loss
change the source of a move alone|3|--workload images --mishaps none
clear dirty without fsync|4|--workload register --mishaps power-loss,cut,brick-crash
compare no copy with what was copied|2|--workload images --mishaps none
copy from a source that was blamed meanwhile|97|--workload register --mishaps brick-freeze,cut
do not take locks again after a reconnect|1|--workload locks --mishaps cut
do not tell what became of names|6|--workload names --layers all --mishaps none
do not tell what became of objects|26|--workload register --layers quick-read --mishaps none
drop the note of a rename that did not end|101|--workload spread --mishaps client-crash,brick-crash
end a rename in the middle|1|--workload spread --mishaps none
forget a linkto file|1|--workload spread --mishaps none
forget failed synchronous writes|43|--workload synced --mishaps disk-refuses,power-loss
forget that no good copy was synced|56|--workload register --mishaps disk-faults,brick-crash,cut
forget the mode of a file that moves|1|--workload moved --mishaps none
forget to blame who failed|2|--workload register --mishaps brick-crash
forget who waits for the window|4|--workload register --mishaps brick-crash
go on with a listing at another brick|4|--workload names --mishaps cut --until 1
heal from a sink|1|--workload register --mishaps brick-crash
hide a foreign change by one of our own|7|--workload register --layers io-cache --mishaps none
ignore quorum|1|--workload register --mishaps brick-crash
keep attributes over a change|2|--workload register --layers md-cache --mishaps none
keep content over a change|1|--workload register --layers quick-read --mishaps none
keep pages over a change|1|--workload register --layers io-cache --mishaps none
keep the locks of who is gone|1|--workload register --mishaps client-crash
keep what is known of blocks over an open, or a lock|56|--workload sharded --layers io-cache --mishaps none
keep what was read ahead over a change|16|--workload register --layers read-ahead --mishaps none
leave a directory out where it is missing|6|--workload spread --mishaps cut
know attributes that another request has changed|38|--workload names --mishaps brick-crash
leave a name out of a listing|1|--workload names --mishaps none
leave out of a listing who is away|2|--workload spread --mishaps cut
leave the path with what was answered early|1|--workload register --layers write-behind --mishaps toggle
leave the source of a move|1|--workload moved --mishaps none
let each brick truncate|21|--workload mixed --mishaps none --until 1
let operations pass what was answered early|1|--workload register --layers write-behind --mishaps none
let outdated copies change names|12|--workload names --mishaps brick-crash
list nothing again after files have moved|1|--workload moved --mishaps none
list what outdated copies show|17|--workload names --mishaps cut
lose an update of the size|1|--workload sharded --mishaps none
lose the dirty marks at restart|6|--workload register --mishaps power-loss,client-crash,healer-freeze
lower the mark of what may differ|36|--workload register --mishaps disk-faults,brick-crash,cut
make names by an old layout|3|--workload moved --mishaps client-freeze
mark one directory of two|8|--workload names --mishaps cut --until 1
move a file with one of its names|13|--workload moved --mishaps none
read copies that are blamed|4|--workload register --mishaps brick-crash
remove the source of a move early|1|--workload moved --mishaps none
remove what a sink lacks|4|--workload register --mishaps brick-crash
replace what a rename is to keep|2|--workload names --mishaps none
say that it is on the disk|9|--workload register --mishaps power-loss,cut,brick-crash
share the lock of a size|1|--workload sharded --mishaps none
skip the index link|4|--workload register --mishaps brick-crash
skip the post-op|38|--workload names --mishaps brick-crash
success without quorum|6|--workload register --mishaps partition,brick-crash,cut
swallow the error of what was answered early|7|--workload register --layers write-behind --mishaps one-way,cut
sync only what is open|273|--workload synced --layers open-behind --mishaps power-loss
sync the first block alone|1|--workload sharded --mishaps power-loss
take back marks against copies that were not healed|1|--workload register --mishaps brick-crash
take back marks without fsync of the sinks|32|--workload register --mishaps power-loss,brick-crash,healer-crash
take the word of a write-out|64|--workload register --mishaps disk-refuses,power-loss
take what memory has for what the disk has|38|--workload register --mishaps disk-faults,power-loss
tell who is away only in the post-op|44|--workload register --mishaps brick-crash,cut,partition
trust layouts before files have moved|1|--workload moved --mishaps none
truncate without a mark|2|--workload rewritten --mishaps client-crash
END
}

# catch BUG OPTIONS FROM TO: the first seed that fails with the bug and not without it, as run tells it.
catch() {
  local from=$3 line seed
  while [ "$from" -le "$4" ]; do
    # shellcheck disable=SC2086
    line=$("$RUN" --layers none $2 --broken "$1" --first --seeds "$from..$4" 2>/dev/null | grep -m1 '^FAILED') || return
    seed=${line#FAILED seed }
    seed=${seed%%:*}
    # shellcheck disable=SC2086
    if "$RUN" --layers none $2 --seed "$seed" >/dev/null 2>&1; then
      echo "$line"
      return
    fi
    from=$((seed + 1))
  done
}

if [ "${1:-}" = --from ]; then # the table with the seeds of a log of this test
  while IFS='|' read -r bug seed options; do
    found=$(awk -v bug="$bug" '/^ok .* - caught: / {sub(/.* - caught: /, ""); now = $0} /^# FAILED seed / && now == bug {print $4 + 0; exit}' "$2")
    echo "$bug|${found:-$seed}|$options"
  done < <(table)
  exit
fi
if [ "${1:-}" = --anew ]; then # the table with the seeds as they are now
  while IFS='|' read -r bug _ options; do
    line=$(catch "$bug" "$options" 1 "$SEEDS")
    seed=${line#FAILED seed }
    echo "$bug|${seed%%:*}|$options"
  done < <(table)
  exit
fi

mapfile -t bugs < <("$RUN" --list | sed -n '/^broken:/,$s/^  //p')
[ ${#bugs[@]} -gt 0 ] || {
  echo "1..0 # SKIP this build is not configured with --enable-mutants"
  exit 0
}
tried=$(table | wc -l)
echo "1..$((tried + 3))"
[ "$tried" -ge 10 ]
result "there are bugs to be found" $?
[ "$(printf '%s\n' "${bugs[@]}" | sort)" = "$(table | cut -d'|' -f1 | sort)" ]
result "the table has all of them and no other" $?

for bug in "${bugs[@]}"; do
  IFS='|' read -r _ seed options < <(table | grep -F "$bug|")
  caught=$(catch "$bug" "$options" "${seed:-1}" $((${seed:-1} + NEAR)))
  [ -n "$caught" ] || { # this takes minutes: the seed is to be written down anew
    caught=$(catch "$bug" "$options" 1 "$SEEDS")
    echo "# not from seed $seed on any more"
  }
  [ -n "$caught" ]
  result "caught: $bug" $?
  echo "# $caught"
done
"$RUN" --broken "no such bug" --seed 1 >/dev/null 2>&1
[ $? -eq 2 ]
result "a bug nobody knows is refused" $?
