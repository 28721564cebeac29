#!/bin/sh
# Runs test programs and scripts, each under a time limit: run.sh PROGRAM...; closing line 'N passed, N failed, N skipped'.
# A program passes by exit status 0; 77 says that what it needs is not there. Check's own counts are added up.
set -u
passed=0 failed=0 skipped=0
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
for t in "$@"; do
	# shellcheck disable=SC2086 # RUNNER is a command with its words: an emulator
	timeout "${TEST_TIMEOUT:-600}" ${RUNNER:-} "$t" >"$log" 2>&1
	status=$?
	checks=$(sed -n 's/^[0-9]*%: Checks: \([0-9]*\), Failures: \([0-9]*\), Errors: \([0-9]*\).*/\1 \2 \3/p' "$log" |
		awk '{ n += $1; bad += $2 + $3 } END { print n + 0, bad + 0 }')
	n=${checks% *} bad=${checks#* }
	[ "$n" -gt 0 ] || n=1
	case $status in
	0) passed=$((passed + n)); echo "ok      $t ($n)"; grep -i '^skipped' "$log" ;;
	77) skipped=$((skipped + 1)); echo "skipped $t: $(tail -n 1 "$log")" ;;
	*) [ "$bad" -gt 0 ] || bad=1
		failed=$((failed + bad)); passed=$((passed + n - bad))
		echo "FAILED  $t (exit $status)"; tail -n 60 "$log" ;;
	esac
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
