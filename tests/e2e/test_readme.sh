#!/bin/sh
# Every curl line of README.md, run against the real daemon: its answer is the one that README shows.
set -u
[ -f README.md ] || { echo "skipped: no README.md"; exit 77; }
out=$(mktemp)
"${NORMD:-build/normd}" --listen 127.0.0.1:0 --log none >"$out" 2>&1 &
pid=$!
trap 'kill $pid 2>/dev/null; rm -f "$out"' EXIT
port=
tries=0
while [ -z "$port" ] && [ $tries -lt 200 ]; do
	sleep 0.05
	tries=$((tries + 1))
	port=$(sed -n 's/.*listens on http.*:\([0-9]*\)$/\1/p' "$out")
done
python3 tests/run_readme.py "127.0.0.1:$port" README.md
