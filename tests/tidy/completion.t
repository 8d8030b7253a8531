#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Completion of the command line: real commands, made-up volumes and keys.
set -u
n=0
real=${GLUSTERISH_BUILDDIR:?}/programs/glusterish/glusterish

# Stands in for the tool: the daemon's answers are made up, and say where they were asked for.
glusterish() {
  case $* in
  *--glusterd-sock=/other*'volume list') echo elsewhere ;;
  *'volume list') printf '%s\n' data database ;;
  *'volume set help group') printf 'Group: %s\nDescription: x\nOptions: y\n\n' metadata-cache samba ;;
  *'volume set help') printf 'Option: %s\nDefault Value: x\nDescription: y\n\n' network.ping-timeout network.tcp-window-size auth.allow ;;
  help*) "$real" "$@" ;;
  *) return 1 ;;
  esac
}

# shellcheck source=/dev/null
. "${GLUSTERISH_SRCDIR:?}/extras/completion/glusterish.bash"

# line LINE WORDS...: completing LINE offers exactly these.
line() {
  local COMP_LINE=$1 COMP_POINT=${#1} COMPREPLY=() COMP_WORDS=(glusterish)
  shift
  n=$((n + 1))
  _glusterish
  if [ "${COMPREPLY[*]}" = "$*" ]; then
    echo "ok $n - $COMP_LINE"
  else
    echo "not ok $n - $COMP_LINE"
    echo "# got: ${COMPREPLY[*]}"
  fi
}

echo "1..21"
line 'glusterish ' bundle doctor get-state global help metrics node peer pool stats top trace volume why
line 'glusterish vol' volume
line 'glusterish volume st' start statedump status stop
line 'glusterish v sta' start statedump status
line 'glusterish doctor data' data database
line 'glusterish peer ' detach help probe status update
line 'glusterish volume start ' data database
line 'glusterish volume stop datab' database
line 'glusterish volume start data ' force
line 'glusterish volume set ' all data database help
line 'glusterish volume set data net' network.ping-timeout network.tcp-window-size
line 'glusterish volume set data network.ping-timeout 10 au' auth.allow
line 'glusterish volume set data gr' group
line 'glusterish volume set data group s' samba
line 'glusterish volume get data a' all auth.allow
line 'glusterish --glusterd-sock=/other volume delete ' elsewhere
line 'glusterish volume create data replica 3 host:/b'
line 'glusterish volume heal data ' disable enable full granular-entry-heal info split-brain statistics
line 'glusterish volume heal data info s' split-brain summary
line 'glusterish volume heal data split-brain ' bigger-file latest-mtime source-brick
line 'glusterish --glus' --glusterd-sock=
