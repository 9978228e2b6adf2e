#!/bin/sh
# The first program of the ramdisk with Ironic's agent: it loads drivers, asks for an address, and starts the agent.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root PYTHONPATH=/opt/agent
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs run /run
mkdir -p /dev/shm
mount -t tmpfs shm /dev/shm
mount -t efivarfs efi /sys/firmware/efi/efivars
exec </dev/console >/dev/console 2>&1
/usr/lib/systemd/systemd-udevd --daemon
udevadm trigger --type=subsystems --action=add
udevadm trigger --type=devices --action=add
modprobe evdev
udevadm settle
ip link set lo up
for path in /sys/class/net/*; do
  interface=${path##*/}
  if [ "$interface" = lo ]; then continue; fi
  ip link set "$interface" up
  busybox udhcpc -i "$interface" -s /usr/local/bin/lease -t 30 -T 2 -q
done
# The power button turns the machine off: nothing else here listens to it.
for name in /sys/class/input/event*/device/name; do
  if [ "$(cat "$name")" = "Power Button" ]; then
    event=${name#/sys/class/input/}
    (head -c 24 "/dev/input/${event%%/*}" >/dev/null && sync && echo o >/proc/sysrq-trigger) &
  fi
done
while :; do
  python3 /opt/agent/bin/ironic-python-agent --config-file /etc/ironic-python-agent.conf
  echo "the agent has ended"
  sleep 5
done
