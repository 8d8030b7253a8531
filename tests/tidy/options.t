#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The option tables are complete, and doc/options.md says what they say.
set -u
gen=${GLUSTERISH_BUILDDIR:?}/extras/gen-option-docs

echo "1..2"
if found=$("$gen" --check 2>&1); then
  echo "ok 1 - every option is described, and its default is one it takes"
else
  echo "not ok 1 - every option is described, and its default is one it takes"
  printf '%s\n' "$found" | sed 's/^/# /'
fi
if difference=$("$gen" | diff "${GLUSTERISH_SRCDIR:?}/doc/options.md" - 2>&1); then
  echo "ok 2 - doc/options.md is up to date"
else
  echo "not ok 2 - doc/options.md is up to date (run: make options-doc)"
  printf '%s\n' "$difference" | head -n 40 | sed 's/^/# /'
fi
