#!/usr/bin/env bash
# The run of `make run`: four of ten sources poison; every arm of the comparison judges the same replies.
set -euo pipefail
scr sim run --attack poisonedrag --defense scr --queries 30 --compare --quiet --out "$OUT/run"
