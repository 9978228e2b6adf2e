# Checks that this virt host can run virtual machines, and makes the storage pool of their disks.
#
#   sh -s NAME HYPERVISOR POOL
set -eu
name=$1
hypervisor=$2
pool=$3
system=qemu:///system

die() {
  echo "$name: $*" >&2
  exit 1
}

command -v virsh >/dev/null || die "virsh is missing; install libvirt-clients and libvirt-daemon-system"
virsh -c "$system" version >/dev/null || die "libvirtd does not answer; start it (systemctl enable --now libvirtd)"
if [ "$hypervisor" = kvm ] && ! [ -e /dev/kvm ]; then
  die "/dev/kvm is missing; enable virtualization in the firmware, or write hypervisor: qemu in a lab"
fi
if ! virsh -c "$system" pool-info "$pool" >/dev/null 2>&1; then
  virsh -c "$system" pool-define-as "$pool" dir --target "/var/lib/libvirt/$pool"
  virsh -c "$system" pool-build "$pool"
fi
# Domains name their disks by path.
if ! virsh -c "$system" pool-dumpxml "$pool" | grep -qF "<path>/var/lib/libvirt/$pool</path>"; then
  die "its storage pool $pool is not in /var/lib/libvirt/$pool; mount its directory there, and define the pool anew"
fi
if ! virsh -c "$system" pool-info "$pool" | grep -q '^State: *running'; then
  virsh -c "$system" pool-start "$pool"
fi
virsh -c "$system" pool-autostart "$pool"
