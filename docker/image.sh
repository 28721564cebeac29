#!/bin/sh
# Builds the image: image.sh NAME. With docker where an engine answers, else with buildah, which needs no daemon; in
# that case the base image is made here by base-image.sh unless it is there already.
set -eu
cd "$(dirname "$0")/.."
name=$1
if docker info >/dev/null 2>&1; then
	exec docker build -f docker/Dockerfile -t "$name" .
fi
base=$(sed -n 's/^FROM \([^ ]*\) AS build$/\1/p' docker/Dockerfile)
buildah --storage-driver=vfs inspect --type image "$base" >/dev/null 2>&1 || docker/base-image.sh "$base"
exec buildah --storage-driver=vfs build --isolation=chroot --format=docker --pull-never -f docker/Dockerfile -t "$name" .
