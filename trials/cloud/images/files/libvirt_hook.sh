#!/bin/sh
# Takes a guest that has started out of libvirtd's pod in the hierarchy `pids` of cgroup v1, where libvirt and
# systemd-machined leave it: kubelet kills what is in any hierarchy of a pod that ends. cgroup v2 has one hierarchy.
guest=$1 operation=$2 processes=/sys/fs/cgroup/pids/cgroup.procs
[ "$operation" = started ] && [ -e "$processes" ] || exit 0
# A hook that fails ends the guest.
cat "/run/libvirt/qemu/$guest.pid" >"$processes" || echo "$guest ends with libvirtd's pod" >&2
exit 0
