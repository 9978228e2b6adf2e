#!/bin/busybox sh
# The first program of the guest's RAM disk: it loads drivers and starts the system on the guest's disk.
/bin/busybox --install -s /bin
export PATH=/bin
mount -t devtmpfs dev /dev
exec </dev/console >/dev/console 2>&1
while read -r module; do
  # The card's checksums are computed here: Open vSwitch's userspace datapath does not complete those that a guest
  # leaves to its card.
  case $module in
  virtio_net) insmod /lib/modules/virtio_net.ko csum=0 gso=0 ;;
  *) insmod "/lib/modules/$module.ko" ;;
  esac
done </etc/modules
until [ -b /dev/vda ]; do sleep 1; done
mount -t ext4 /dev/vda /mnt
exec switch_root /mnt /init
