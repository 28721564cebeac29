#!/bin/sh
# The two commands on a Debian 12 that has nothing but make: bare.sh WORK_FOLDER. Needs root, mmdebstrap and apt.
# `make run` must answer the curl line that it prints, and `make test` must pass. Leaves nothing behind.
set -eu
work=$(mktemp -d "${1:-/tmp}/bare.XXXXXX")
root=$work/root
daemon=
stop_daemon() {
	[ -n "$daemon" ] || return 0
	# the daemon is make's child: make itself would only wait for it
	for child in $(ps -o pid= --ppid "$daemon"); do kill "$child" || true; done
	wait "$daemon" || true
	daemon=
}
finish() {
	stop_daemon
	for m in proc dev/shm dev; do umount "$root/$m" 2>/dev/null || true; done
	rm -rf --one-file-system "$work"
}
trap finish EXIT
trap 'exit 1' INT TERM

mmdebstrap --quiet --dpkgopt=force-unsafe-io --variant=minbase --include=make bookworm "$root"
# the host's way to the package registry, whatever it is
cp -L /etc/resolv.conf /etc/hosts "$root/etc/" 2>/dev/null || true
cp /etc/apt/apt.conf.d/* "$root/etc/apt/apt.conf.d/" 2>/dev/null || true
mkdir -p "$root/normd"
git archive HEAD | tar -x -C "$root/normd"
mount -t proc proc "$root/proc"
mount --bind /dev "$root/dev"
mount -t tmpfs shm "$root/dev/shm" 2>/dev/null || true

echo "== make run"
chroot "$root" /bin/sh -c 'cd /normd && exec make run' >"$work/run.log" 2>&1 &
daemon=$!
line=
tries=0
while [ -z "$line" ] && [ $tries -lt 600 ] && kill -0 "$daemon" 2>/dev/null; do
	sleep 0.5
	tries=$((tries + 1))
	line=$(grep -m 1 -oE 'curl (localhost|127\.0\.0\.1)[:/].*' "$work/run.log" || true)
done
if [ -z "$line" ]; then
	tail -n 40 "$work/run.log"
	echo "make run printed no curl line"
	exit 1
fi
echo "$line"
chroot "$root" /bin/sh -c "$line" | tee "$work/answer"
echo
grep -q '"y"' "$work/answer"
stop_daemon

echo "== make test"
chroot "$root" /bin/sh -c 'cd /normd && make test' >"$work/test.log" 2>&1 || { tail -n 60 "$work/test.log"; exit 1; }
grep -E '^[0-9]+ passed' "$work/test.log"
