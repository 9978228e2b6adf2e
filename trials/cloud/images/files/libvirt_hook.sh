#!/bin/sh
# Takes a guest that has started out of libvirtd's pod in the hierarchy `pids` of cgroup v1, where libvirt and
# systemd-machined leave it: kubelet kills what is in any hierarchy of a pod that ends. cgroup v2 has one hierarchy.
guest=$1 operation=$2 processes=/sys/fs/cgroup/pids/cgroup.procs
if [ "$operation" = started ] && [ -e "$processes" ]; then
    cat "/run/libvirt/qemu/$guest.pid" >"$processes"
fi
