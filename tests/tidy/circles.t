#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# How files depend on each other: tests/tidy/circles.
cd "${GLUSTERISH_SRCDIR:?}" || exit 1
if ! command -v python3 >/dev/null; then
  echo "1..0 # SKIP needs python3"
  exit 0
fi
exec python3 tests/tidy/circles
