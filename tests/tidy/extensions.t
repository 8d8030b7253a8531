#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# doc/protocol-extensions.md says what the table of extensions says, and the code has no key beside the table.
set -u
cd "${GLUSTERISH_SRCDIR:?}" || exit 1

echo "1..2"
if difference=$("${GLUSTERISH_BUILDDIR:?}/extras/gen-extension-docs" | diff doc/protocol-extensions.md - 2>&1); then
  echo "ok 1 - doc/protocol-extensions.md is up to date"
else
  echo "not ok 1 - doc/protocol-extensions.md is up to date (run: make extensions-doc)"
  printf '%s\n' "$difference" | head -n 40 | sed 's/^/# /'
fi
beside=$(grep -nE '"glusterish(\.[a-z]|-(version|capabilities))' libglusterish/*.[ch] rpc/*.[ch] xlators/*/*/*.[ch] |
  grep -vE '^libglusterish/extension\.h:|_test\.c:')
if [ -z "$beside" ]; then
  echo "ok 2 - keys of our own stand in libglusterish/extension.h"
else
  echo "not ok 2 - keys of our own stand in libglusterish/extension.h"
  printf '%s\n' "$beside" | sed 's/^/# /'
fi
