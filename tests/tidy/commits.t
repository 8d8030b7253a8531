#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Subjects of commits: one line of at most 72 characters about one thing. Commits before the rule are as they are.
set -u
cd "${GLUSTERISH_SRCDIR:?}" || exit 1
since=87ecdd8ce89840fab780addb29fd5d7ca06b2d43

if ! git rev-parse -q --verify "$since^{commit}" >/dev/null 2>&1 || ! git merge-base --is-ancestor "$since" HEAD; then
  echo "1..0 # SKIP no history"
  exit 0
fi
echo "1..1"
wrong=$(git log --no-merges --format='%h %s' "$since..HEAD" | awk '{
  hash = $1
  subject = substr($0, length($1) + 2)
  if (length(subject) > 72) print hash ": " length(subject) " characters: " subject
  if (subject ~ /;/) print hash ": two things: " subject
  if (subject ~ /\.$/) print hash ": ends with a period: " subject
  if (subject !~ /^[A-Z]/) print hash ": no sentence: " subject
}')
if [ -z "$wrong" ]; then
  echo "ok 1 - every subject of a commit is one short sentence"
else
  echo "not ok 1 - every subject of a commit is one short sentence"
  printf '%s\n' "$wrong" | head -n 20 | sed 's/^/# /'
fi
