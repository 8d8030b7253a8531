#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A volume that is declared for one mount: another one is refused as long as the first one is there.
# shellcheck source=tests/functional/lib.sh
. "$(dirname "$0")/lib.sh"
require_root
require_fuse
start_glusterishd
must "a volume is there" start_volume v 3
ok "it is declared for one mount" gi volume set v client.single-mount on
must "it is mounted" mount_volume v "$WORK/first" --kernel-writeback-cache=yes
nok "a second mount is refused" mount_volume v "$WORK/second"
like "$(cat "$WORK/mount-second.log")" "client.single-mount is on, and the volume is mounted by CTX_ID:" "and told who has it"
ok "the first one goes on" sh -c "echo x >'$WORK/first/file' && cat '$WORK/first/file'"
ok "tools are let in" gi volume heal v info
ok "a changed option that needs another graph does not lock it out" gi volume set v performance.io-cache off
ok "it goes on still" within 10 sh -c "echo y >'$WORK/first/file'"
umount "$WORK/first"
ok "the next one is let in" within 10 mount_volume v "$WORK/second"
is "$(cat "$WORK/second/file")" y "and sees what was written"
ok "without the declaration" gi volume set v client.single-mount off
ok "there may be two" mount_volume v "$WORK/first"
done_testing
