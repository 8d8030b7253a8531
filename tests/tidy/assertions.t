#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Code says what must hold of its state: at least 15 assertions per thousand lines in the core, in rpc and in each kind of translator.
cd "${GLUSTERISH_SRCDIR:?}" || exit 1
echo "1..1"
out=$(SPARED=xlators/mount tests/tidy/assertions 15) || printf 'not '
echo "ok 1 - at least 15 assertions per thousand lines"
printf '%s\n' "$out" | sed 's/^/# /'
