#!/usr/bin/env bash
# One command twice, each time from nothing: the rounds are the same but for their latencies.
set -euo pipefail
for i in 1 2; do
  scr sim run --attack ata --defense scr --embedder hashing --documents 200 --sources 5 --queries 6 --no-compare \
    --quiet --out "$OUT/run$i"
  sed -E 's/"latency_ms":\{[^}]*\}//' "$OUT/run$i/rounds.jsonl" > "$OUT/rounds$i"
done
if cmp -s "$OUT/rounds1" "$OUT/rounds2"; then same=1; else same=0; fi
printf '{"same": %d}\n' "$same" > "$OUT/result.json"
