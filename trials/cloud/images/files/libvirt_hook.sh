#!/bin/sh
# Called with the guest's description as input. A hook that fails ends the guest, so it only reports.
guest=$1 operation=$2 processes=/sys/fs/cgroup/pids/cgroup.procs
[ "$operation" = started ] || exit 0
# libvirt and the userspace datapath of Open vSwitch read and write the flags of a new card at the same time, and one
# may undo that the other has set it up.
sed -n "s/.*<target dev=['\"]\(tap[^'\"]*\)['\"].*/\1/p" | while read -r card; do
    ip link set "$card" up || echo "$card of $guest is down" >&2
done
# libvirt and systemd-machined leave the guest in the hierarchy `pids` of cgroup v1 of libvirtd's pod: kubelet kills
# what is in any hierarchy of a pod that ends. cgroup v2 has one hierarchy.
[ -e "$processes" ] || exit 0
cat "/run/libvirt/qemu/$guest.pid" >"$processes" || echo "$guest ends with libvirtd's pod" >&2
exit 0
