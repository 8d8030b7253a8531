#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A translator that is built out of the tree, with the installed headers: nothing of the project is edited for it to be known to
# `volume set`, to stand at its place in the volfile, and to be on the path of operations.
. "$(dirname "$0")/lib.sh"
require_root
require_fuse
command -v pkg-config >/dev/null || skip_all "needs pkg-config"
make_work

# ---- the installed headers and library, and the translator built with them alone ----

unset MAKEFLAGS MFLAGS MAKELEVEL
stage=$WORK/stage
# The core library alone: libraries that need others are linked again where they are built, while other tests run with them.
must "headers and library are installed" make -s -C "$GLUSTERISH_BUILDDIR" DESTDIR="$stage" \
  lib_LTLIBRARIES=libglusterish/libglusterish.la install-headers install-libLTLIBRARIES install-pkgconfigDATA
PKG_CONFIG_PATH=$(dirname "$(find "$stage" -name glusterish.pc)")
export PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR=$stage
cp -r "$GLUSTERISH_SRCDIR/doc/translator-template" "$WORK/template"
chmod -R u+w "$WORK/template"
must "the template is built with them" make -s -C "$WORK/template"

# More bytes than any slack has room for: what a switch adds to a running graph fits all the same.
sed -e 's/\.min_children = 1,/&\n    .fop_bytes = 3000, .inode_bytes = 3000, .fd_bytes = 3000,/' -i "$WORK/template/template.c"
must "with many private bytes too" make -s -C "$WORK/template" -B

# ---- the translators of the build tree, and this one ----

mine=$WORK/xlators
for so in "$GLUSTERISH_XLATOR_DIR"/*/*/.libs/*.so; do
  kind=$(basename "$(dirname "$(dirname "$(dirname "$so")")")")
  mkdir -p "$mine/$kind"
  ln -s "$so" "$mine/$kind/"
done
must "it is installed" make -s -C "$WORK/template" install XLATORS="$mine"
export GLUSTERISH_XLATOR_DIR=$mine
start_glusterishd
help=$(gi volume set help)
like "$help" "Option: features\.template$" "its switch is known"
like "$help" "Count writes, and refuse those that are too large" "with its text"
like "$help" "Option: template\.largest-write$" "its option too"

layers() { gi system:: getspec v | sed -n 's/^ *type \(features\|performance\|debug\)/\1/p' | tr '\n' ' '; }

must "a volume starts" start_volume v 1
is "$(layers)" "features/utime performance/md-cache performance/write-behind performance/open-behind performance/quick-read performance/nl-cache performance/io-threads debug/io-stats " "it is off by default"
must "it mounts" mount_volume v "$WORK/mnt"
big() { dd if=/dev/zero of="$WORK/mnt/file" bs=64K count=1 oflag=direct; }
ok "large writes pass" big

ok "it is switched on" gi volume set v features.template on
ok "its option is set" gi volume set v template.largest-write 32KB
is "$(layers)" "features/utime features/template performance/md-cache performance/write-behind performance/open-behind performance/quick-read performance/nl-cache performance/io-threads debug/io-stats " "it stands where its class says"
like "$(gi system:: getspec v)" "option largest-write 32KB" "with its option"
refused() { ! big 2>"$WORK/why" && grep -q "File too large" "$WORK/why"; }
ok "it joins the running graph and refuses large writes" within 10 refused
ok "small ones pass" dd if=/dev/zero of="$WORK/mnt/file" bs=4K count=1 oflag=direct
ok "it is switched off" gi volume set v features.template off
ok "and large writes pass again" within 10 big
done_testing
