#!/bin/sh
# Runs a script in an image's root and keeps what it changes as a layer. Runs in a mount namespace of its own.
#
#   layer.sh LOWER DIRECTORY SHARED SCRIPT
#
# LOWER: the parents' layers, the nearest first, joined by colons. DIRECTORY has the empty directories tree (the new
# layer), work and root. SHARED has the directories lists and archives of apt, and inputs, which is /tmp in the root.
set -eu
lower=$1
directory=$2
shared=$3
script=$4

mount --make-rprivate /
root=$directory/root
mount -t overlay overlay "$root" \
    -o "lowerdir=$lower,upperdir=$directory/tree,workdir=$directory/work,redirect_dir=off,metacopy=off"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/tmp"
cp -r "$shared/inputs/." "$root/tmp"
mount --bind "$shared/lists" "$root/var/lib/apt/lists"
mount --bind "$shared/archives" "$root/var/cache/apt/archives"
mount --bind /etc/resolv.conf "$root/etc/resolv.conf"
chroot "$root" sh -c "$script" </dev/null
# Traces of the installation. A file of the parent, if there is one, becomes a whiteout.
cd "$root"
rm -rf root/.cache root/.local var/cache/ldconfig/aux-cache var/lib/systemd/catalog
rm -f var/log/alternatives.log var/log/dpkg.log var/log/bootstrap.log var/log/apt/*.log var/log/apt/*.xz
rm -f var/cache/debconf/*-old var/lib/dpkg/*-old
