#!/bin/sh
# Imports archives into a containerd store. Run in namespaces of its own for mounts and processes.
#
#   import_images.sh DIRECTORY ROOT ARCHIVES NAME...
#
# DIRECTORY has the empty directories root, work and store. containerd comes from ROOT, a machine's Debian root.
set -eu
directory=$1
machine=$2
archives=$3
shift 3

mount --make-rprivate /
mount -t tmpfs tmpfs "$directory/work"
mkdir "$directory/work/upper" "$directory/work/work"
options="lowerdir=$machine,upperdir=$directory/work/upper,workdir=$directory/work/work"
mount -t overlay overlay -o "$options" "$directory/root"
mkdir -p "$directory/root/run/store" "$directory/root/run/archives"
mount --bind "$directory/store" "$directory/root/run/store"
mount --bind "$archives" "$directory/root/run/archives"
mount -t proc proc "$directory/root/proc"
mount --rbind /dev "$directory/root/dev"
exec chroot "$directory/root" sh -s "$@" <<'INSIDE'
set -eu
address=/run/containerd.sock
containerd --root /run/store --state /run/containerd-state --address "$address" >/run/containerd.log 2>&1 &
daemon=$!
tries=0
until ctr --address "$address" version >/dev/null 2>&1; do
  tries=$((tries + 1))
  if [ "$tries" -ge 60 ]; then
    tail -n 5 /run/containerd.log >&2
    exit 1
  fi
  sleep 0.5
done
for archive; do
  ctr --address "$address" --namespace k8s.io images import "/run/archives/$archive"
done
kill "$daemon"
wait "$daemon" || true
INSIDE
