#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every system call sequence of syscalls.c does on a mount what it does on a local directory: on two sets of three, so that it goes through all that one set
# has and what several need besides. SYSCALLS_SETS=1: on one.
. "$(dirname "$0")/lib.sh"
require_root
require_fuse
start_glusterishd >/dev/null
start_volume calls 3 "${SYSCALLS_SETS:-2}" >/dev/null || { echo "Bail out! no volume"; exit 1; }
mount_volume calls "$WORK/mnt" >/dev/null || { echo "Bail out! no mount"; exit 1; }
mkdir "$WORK/reference"
chmod 755 "$WORK" "$WORK/mnt" "$WORK/reference"
"$GLUSTERISH_BUILDDIR/tests/functional/syscalls" "$WORK/mnt" "$WORK/reference" || TEST_FAILED=1
