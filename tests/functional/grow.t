#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A volume grows and shrinks while fsx runs and trees are renamed in it, and the rebalance, a client and the management daemon are killed: one round of
# tests/bench/grow. By hand: it takes minutes.
# ROUNDS=20: so many, with PostgreSQL, and bricks are killed too.
grow=${GLUSTERISH_SRCDIR:-$(cd "$(dirname "$0")/../.." && pwd)}/tests/bench/grow
[ -z "${ROUNDS:-}" ] || exec "$grow" --rounds "$ROUNDS"
exec "$grow" --rounds 1 --seed 21 --files 30 --load "tree fsx client" --kill "mover daemon client"
