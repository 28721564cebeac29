#!/bin/sh
# Makes a minimal Debian 12 with mmdebstrap and stores it for buildah: base-image.sh NAME. For machines that reach
# Debian's packages but no image registry. It takes packages from where this machine takes them.
set -eu
name=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# This machine's own sources of the release, or mmdebstrap's default where it has none.
sources=$(grep -lsw bookworm /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources || true)
# shellcheck disable=SC2086 # one argument a file
mmdebstrap --quiet --variant=minbase bookworm "$work/root" $sources

# and its way to them
mkdir -p "$work/root/etc/apt/apt.conf.d"
cp /etc/apt/apt.conf.d/* "$work/root/etc/apt/apt.conf.d/" 2>/dev/null || true
rm -f "$work/root/etc/resolv.conf" # the builder brings its own

container=$(buildah --storage-driver=vfs from scratch)
buildah --storage-driver=vfs add -q "$container" "$work/root" / >/dev/null
buildah --storage-driver=vfs commit -q --rm "$container" "$name" >/dev/null
