#!/bin/sh
# The daemon as a command: flags, errors, health check, and a locale that writes numbers with commas.
set -u
normd=${NORMD:-build/normd}
work=$(mktemp -d)
pid=
finish() {
	[ -z "$pid" ] || kill "$pid" 2>/dev/null
	rm -rf "$work"
}
trap finish EXIT
failed=0
wrong() {
	echo "wrong: $1"
	failed=1
}

# Starts it with these flags on a free port; sets $pid and $port.
start() {
	: >"$work/out"
	"$@" "$normd" --listen 127.0.0.1:0 --log none >"$work/out" 2>"$work/err" &
	pid=$!
	port=
	tries=0
	while [ -z "$port" ] && [ $tries -lt 200 ]; do
		sleep 0.05
		tries=$((tries + 1))
		port=$(sed -n 's/.*listens on http.*:\([0-9]*\)$/\1/p' "$work/out")
	done
	[ -n "$port" ] || wrong "it did not start: $(cat "$work/err")"
}

stop() {
	kill "$pid"
	wait "$pid" || wrong "exit status $? after SIGTERM: $(cat "$work/err")"
	pid=
}

# Each is an error that names what is wrong, with status 2 and nothing on standard output.
refused() {
	name=$1
	shift
	out=$(timeout 20 env "$@" 2>"$work/err")
	status=$?
	[ $status -eq 2 ] || wrong "\"$*\": status $status instead of 2"
	[ -z "$out" ] || wrong "\"$*\" printed $out"
	[ "$(wc -l <"$work/err")" -eq 1 ] || wrong "\"$*\": not one line: $(cat "$work/err")"
	grep -qe "$name" "$work/err" || wrong "\"$*\" does not name $name: $(cat "$work/err")"
}
refused --nonsense "$normd" --nonsense
refused --max-body "$normd" --max-body many
refused --max-body "$normd" --max-body
refused NORMD_QUEUE NORMD_QUEUE=0 "$normd"
refused --listen "$normd" --listen nowhere
refused --listen "$normd" --listen 127.0.0.1:99999
refused --listen "$normd" --listen 192.0.2.1:0
refused --max-elements "$normd" --listen 127.0.0.1:0 --max-elements 1099511627776 # more addresses than a process has
refused --isa "$normd" --isa mmx
refused --log "$normd" --log=xml
refused --api-key-file "$normd" --api-key-file "$work/none"

"$normd" --help >"$work/help" || wrong "--help: status $?"
grep -q 'NORMD_MAX_BODY, default 64MiB' "$work/help" || wrong "--help does not tell of NORMD_MAX_BODY"
"$normd" --version >"$work/version" || wrong "--version: status $?"
grep -Eq '^normd [0-9.]+ \((gcc|clang) .*, kernel [a-z0-9]+\)$' "$work/version" || wrong "--version: $(cat "$work/version")"

# healthcheck follows --listen and its twin
start env
"$normd" healthcheck --listen "127.0.0.1:$port" || wrong "healthcheck of a healthy daemon"
NORMD_LISTEN="0.0.0.0:$port" "$normd" healthcheck || wrong "healthcheck by NORMD_LISTEN=0.0.0.0"
refused --listen "$normd" --listen "127.0.0.1:$port" # taken
stop
"$normd" healthcheck --listen "127.0.0.1:$port" 2>"$work/err"
[ $? -eq 1 ] || wrong "healthcheck of nobody: not status 1"

# a banner's curl line works as it stands
"$normd" --listen 127.0.0.1:0 --log none --banner >"$work/banner" 2>&1 &
pid=$!
tries=0
until grep -q curl "$work/banner" || [ $tries -ge 200 ]; do
	sleep 0.05
	tries=$((tries + 1))
done
sh -c "$(grep curl "$work/banner")" 2>/dev/null | grep -q '"y"' || wrong "the banner's line: $(cat "$work/banner")"
stop

# IPv6, where there is one
if "$normd" --listen '[::1]:0' --version >/dev/null && [ -e /proc/net/if_inet6 ]; then
	"$normd" --listen '[::1]:0' --log none >"$work/six" 2>"$work/err" &
	pid=$!
	sleep 0.5
	address=$(sed -n 's/.*listens on http:..\(.*\)$/\1/p' "$work/six")
	if [ -n "$address" ]; then
		curl -gsS "http://$address/healthz" | grep -q ok || wrong "no answer at $address"
		"$normd" healthcheck --listen "$address" || wrong "healthcheck at $address"
		stop
	else
		wait "$pid"
		pid=
		echo "skipped IPv6: $(cat "$work/err")"
	fi
fi

# numbers do not follow the locale; one with a decimal comma is made where the system has its description
ask() {
	curl -sS "127.0.0.1:$port/rmsnorm" -d '{"x":[0.5,-1.25,3e-3],"epsilon":0.25}'
}
start env LC_ALL=C
ask >"$work/c"
stop
if localedef -i de_DE -f UTF-8 "$work/de_DE.UTF-8" 2>/dev/null; then
	# a library of libmicrohttpd's makes a locale when loaded, and glibc does not free the path: no leak of ours
	start env LOCPATH="$work" LC_ALL=de_DE.UTF-8 ASAN_OPTIONS=detect_leaks=0
else
	echo "skipped: no description of a German locale here; its name alone is tried"
	start env LC_ALL=de_DE.UTF-8
fi
ask >"$work/de"
stop
grep -q '"y":\[0\.' "$work/c" || wrong "no numbers: $(cat "$work/c")"
cmp -s "$work/c" "$work/de" || wrong "the answer depends on the locale: $(cat "$work/de")"

[ $failed -eq 0 ] && echo "the command line works"
exit $failed
