#!/bin/sh
# Runs the image read-only, without capabilities or privileges, and calls every endpoint: image.sh NAME. With docker
# where an engine answers, else with podman.
set -eu
cd "$(dirname "$0")/.."
name=$1
id=
fail() {
	echo "image: $1"
	exit 1
}
finish() {
	[ -z "$id" ] || $engine rm -f "$id" >/dev/null 2>&1 || true
}
trap finish EXIT

confined="--read-only --cap-drop=all --security-opt=no-new-privileges"
if docker info >/dev/null 2>&1; then
	engine=docker
	# shellcheck disable=SC2086 # a list of flags, here and below
	id=$(docker run -d $confined -p 127.0.0.1::8080 "$name")
	address=$(docker port "$id" 8080/tcp | head -n 1)
else
	engine="podman --runtime=runc --cgroup-manager=cgroupfs --storage-driver=vfs"
	# without a network of its own the container shares ours, so it needs a port that is free: the first that works
	for try in 1 2 3 4 5; do
		port=$((20000 + ($$ * 7 + try * 1013) % 30000))
		# shellcheck disable=SC2086
		id=$($engine run -d --network=host --no-healthcheck $confined --ulimit nofile=20000:20000 --ulimit nproc=1000:1000 \
			-e NORMD_LISTEN=127.0.0.1:$port "$name")
		sleep 1
		[ "$($engine inspect --format '{{.State.Running}}' "$id")" != true ] || break
		$engine rm -f "$id" >/dev/null
		id=
	done
	[ -n "$id" ] || fail "it does not start"
	address=127.0.0.1:$port
fi

tries=0
until curl -fsS "http://$address/healthz" >/dev/null 2>&1; do
	tries=$((tries + 1))
	[ $tries -lt 100 ] || fail "no answer from /healthz: $($engine logs "$id" 2>&1 | tail -n 5)"
	sleep 0.1
done

for path in / /healthz /readyz /version /openapi.json /conventions; do
	curl -fsS "http://$address$path" >/dev/null || fail "GET $path"
done
curl -fsS "http://$address/rmsnorm" -d '{"x":[3,4]}' | grep -q '"y"' || fail "POST /rmsnorm"
python3 tests/call_examples.py "http://$address" || fail "an example of /openapi.json"

$engine exec "$id" /usr/bin/normd healthcheck || fail "its health check"
# a listening address of its own choice is followed, and nobody answering there is noticed
! $engine exec "$id" /usr/bin/normd healthcheck --listen 127.0.0.1:1 2>/dev/null || fail "its health check where nobody listens"
user=$($engine inspect --format '{{.Config.User}}' "$id")
case $user in '' | 0* | root*) fail "it runs as root" ;; esac
! $engine exec "$id" /bin/sh -c true >/dev/null 2>&1 || fail "it has a shell"
$engine inspect --format '{{range .Config.Env}}{{println .}}{{end}}' "$id" | grep -q '^NORMD_LISTEN=' || fail "NORMD_LISTEN is not set"

$engine stop -t 20 "$id" >/dev/null 2>&1
status=$($engine inspect --format '{{.State.ExitCode}}' "$id")
[ "$status" = 0 ] || fail "it ended with status $status"
echo "the image $name works: every endpoint called, ended with status 0"
