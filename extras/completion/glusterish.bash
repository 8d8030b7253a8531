# SPDX-License-Identifier: Apache-2.0
# bash completion for glusterish(8). The commands come from its own help; volumes and option keys from the daemon.
# shellcheck shell=bash

# What the daemon is asked through: the words of the line that say where it is.
_glusterish_ask() {
  "$1" --mode=script --timeout=5 "${where[@]}" "${@:2}" 2>/dev/null
}

# The leading plain words of every command, one command per line, and its first placeholder.
_glusterish_grammar() {
  "$1" help all 2>/dev/null | sed -nE '/^gluster /d; s/^([a-z][a-z-]*( [a-z][a-z-]*)*)( (\[?<[^>]*>|[[{]).*)?( - .*)?$/\1 \4/p'
  printf '%s\n' 'help all' 'volume set help group' 'volume set all'
}

_glusterish() {
  local program=${COMP_WORDS[0]} line=${COMP_LINE:0:COMP_POINT}
  local cur word candidates='' i
  local -a typed=() words=() where=() parts
  COMPREPLY=()
  read -ra typed <<<"$line"
  case $line in
  *' ') cur='' ;;
  *)
    cur=${typed[-1]}
    unset 'typed[-1]'
    ;;
  esac
  for word in "${typed[@]:1}"; do
    case $word in
    --glusterd-sock=* | --remote-host=*) where+=("$word") ;;
    -*) ;;
    *) words+=("$word") ;;
    esac
  done
  case $cur in
  --*=* | *:*) return ;; # paths and bricks: file names
  -*)
    compopt -o nospace 2>/dev/null
    candidates='--mode=script --xml --json --remote-host= --glusterd-sock= --timeout= --log-file= --log-level= --help --version'
    ;;
  *)
    while read -ra parts; do
      for ((i = 0; i < ${#words[@]}; i++)); do
        [[ ${parts[i]-} == "${words[i]}"* ]] || continue 2
      done
      case ${parts[i]-} in
      *VOLNAME* | *NEW-VOLNAME*) [[ ${parts[i]} == *NEW-* ]] || candidates+=" $(_glusterish_ask "$program" volume list)" ;;
      [a-z]*) candidates+=" ${parts[i]}" ;;
      esac
    done < <(_glusterish_grammar "$program")
    if ((${#words[@]} >= 3)) && [[ volume == "${words[0]}"* ]]; then
      case ${words[1]} in
      set)
        ((${#words[@]} % 2)) && candidates+=" $(_glusterish_keys "$program")"
        ((${#words[@]} == 3)) && candidates+=' group'
        [[ ${#words[@]} == 4 && ${words[3]} == group ]] && candidates+=" $(_glusterish_groups "$program")"
        ;;
      get | reset) ((${#words[@]} == 3)) && candidates+=" all $(_glusterish_keys "$program")" ;;
      start | stop) ((${#words[@]} == 3)) && candidates+=' force' ;;
      add-brick | remove-brick) ((${#words[@]} == 3)) && candidates+=' replica' ;;
      heal) candidates+=" $(_glusterish_heal "${words[@]:3}")" ;;
      status) ((${#words[@]} == 3)) && candidates+=' shd detail clients mem inode fd callpool tasks client-list' ;;
      esac
    fi
    ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$candidates" -- "$cur" | sort -u)
}

# The words that may follow those given after "volume heal VOLNAME".
_glusterish_heal() {
  case $* in
  '') echo 'enable disable full statistics info split-brain granular-entry-heal' ;;
  info) echo 'summary split-brain' ;;
  split-brain) echo 'bigger-file latest-mtime source-brick' ;;
  statistics) echo heal-count ;;
  'statistics heal-count') echo replica ;;
  granular-entry-heal) echo 'enable disable' ;;
  esac
}

_glusterish_keys() {
  _glusterish_ask "$1" volume set help | sed -n 's/^Option: //p'
}

_glusterish_groups() {
  _glusterish_ask "$1" volume set help group | sed -n 's/^Group: //p'
}

complete -o default -F _glusterish glusterish
