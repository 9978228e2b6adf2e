#!/bin/sh
# Starts a machine: enters its cgroups, mounts its root, and becomes systemd-nspawn.
#
#   start_machine.sh NAME DIRECTORY ROOT NAMESPACE PROGRAMS=DIRECTORY... -- CGROUP...
#
# systemd-nspawn and its libraries come from ROOT, the Debian root that is the machine's lower layer: nothing is
# installed on the host. Run in a mount namespace of its own.
set -eu
name=$1
directory=$2
root=$3
namespace=$4
shift 4

binds=
while [ "$1" != -- ]; do
  binds="$binds --bind-ro=${1#*=}:/opt/quorate/${1%%=*}"
  shift
done
shift
for cgroup; do
  echo $$ >"$cgroup/cgroup.procs"
done
# Nanoseconds by which timers of the machine's processes may expire late, so that many expire at once.
# With the default of 50 us, the sleeps of idle programs in 15 machines cause 8000 interrupts a second on two cores.
echo 10000000 >/proc/$$/timerslack_ns

mount --make-rprivate /
# What the members keep is on a file system of its own, which a power cut makes forget what was not synced.
mount -t ext4 -o loop "$directory/disk" "$directory/members"
mkdir -p "$directory/members/volumes" "$directory/members/etcd"
mount -t overlay overlay -o "lowerdir=$root,upperdir=$directory/upper,workdir=$directory/work" "$directory/root"
for loader in "$root"/lib64/ld-linux-*.so.* "$root"/lib/ld-linux-*.so.*; do
  [ -e "$loader" ] && break
done
triplet=$(basename -- "$(dirname -- "$(readlink -f -- "$loader")")")

export SYSTEMD_NSPAWN_LOCK=0 SYSTEMD_NSPAWN_API_VFS_WRITABLE=network
# shellcheck disable=SC2086 # one word for each directory; the lab's own paths contain no blanks
exec "$loader" --library-path "$root/usr/lib/$triplet:$root/usr/lib/$triplet/systemd" "$root/usr/bin/systemd-nspawn" \
  --quiet --boot --directory="$directory/root" --machine="$name" --register=no --keep-unit --resolv-conf=off \
  --network-namespace-path="/run/netns/$namespace" --capability=all \
  --system-call-filter='@keyring bpf @clock @module' --console=pipe --bind=/dev/kmsg $binds \
  --bind="$directory/containerd:/var/lib/containerd" --bind="$directory/kubelet:/var/lib/kubelet" \
  --bind="$directory/members/volumes:/var/lib/quorate" --bind="$directory/members/etcd:/var/lib/etcd" \
  --bind="$directory/logs:/var/log/pods"
