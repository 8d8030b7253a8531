# SPDX-License-Identifier: Apache-2.0
# Shell functions that quickstart, check and the benchmarks share. Source it; it needs $top, the root of the source tree.
# shellcheck shell=bash

say() { printf '\033[1m==>\033[0m %s\n' "$*" >&2; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

# at_end COMMAND: what is done when the script ends, however it does. Being told again, as `timeout` tells a process and its group, does not cut it short.
at_end() {
  trap "trap '' INT TERM; $1" EXIT
  trap 'trap "" INT TERM; exit 130' INT TERM
}

# What a build needs, what running PostgreSQL on a volume needs, and what the tests need beside those.
build_packages=(gcc make autoconf automake libtool pkg-config libfuse3-dev fuse3 liburing-dev libevent-dev libjemalloc-dev
  uuid-dev libjansson-dev libxml2-dev libssl-dev libxxhash-dev libcmocka-dev libedit-dev
  libcurl4-openssl-dev systemtap-sdt-dev)
pgbench_packages=(postgresql postgresql-contrib)
test_packages=(attr acl rsync chromium curl jq openssl procps util-linux iproute2 python3-minimal glusterfs-server clang libclang-rt-14-dev libc6-dev
  clang-format-14 prometheus etcd-server strace linux-perf qemu-utils)

# Installs those of the named packages that are missing.
install_packages() {
  local missing=() p
  for p in "$@"; do
    dpkg-query -W -f '${db:Status-Status}\n' "$p" 2>/dev/null | grep -qx installed || missing+=("$p")
  done
  [ ${#missing[@]} -eq 0 ] && return 0
  [ "$(id -u)" = 0 ] || die "these packages are missing and only root can install them: ${missing[*]}"
  say "installing ${missing[*]}"
  # Installing postgresql must not leave a cluster of its own running.
  if printf '%s\n' "${missing[@]}" | grep -qx postgresql && [ ! -e /etc/postgresql-common/createcluster.conf ]; then
    mkdir -p /etc/postgresql-common
    echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf
  fi
  apt-get update -qq >/dev/null || die "apt-get update failed"
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null ||
    die "apt-get install failed"
}

# build_tree DIR [configure options]: configures once and brings the build up to date; of `targets`, if that is set, not of all. A build of
# another source tree, which may be gone, is begun anew: what it made depends on that tree's files.
build_tree() {
  local dir=$1
  shift
  [ -x "$top/configure" ] && [ "$top/configure" -nt "$top/configure.ac" ] || (cd "$top" && ./autogen.sh >/dev/null 2>&1) ||
    die "autogen.sh failed"
  [ ! -f "$dir/.configured-with" ] || [ "$(head -n 1 "$dir/.configured-with")" = "$top" ] || rm -rf --one-file-system "$dir"
  mkdir -p "$dir"
  (
    cd "$dir" || exit 1
    [ -f Makefile ] && [ "$(cat .configured-with 2>/dev/null)" = "$top"$'\n'"with $*" ] || {
      "$top/configure" -q "$@" && printf '%s\nwith %s' "$top" "$*" >.configured-with
    } || exit 1
    # shellcheck disable=SC2086
    make -s -j"$(nproc)" ${targets:-} >make.log 2>&1 || { tail -n 30 make.log >&2; exit 1; }
  ) || die "the build in $dir failed"
}

# Waits up to $1 seconds for the command behind it to succeed.
wait_for() {
  local i n=$(($1 * 20))
  shift
  for ((i = 0; i < n; i++)); do
    "$@" >/dev/null 2>&1 && return 0
    sleep 0.05
  done
  return 1
}
