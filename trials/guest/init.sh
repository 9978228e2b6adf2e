#!/bin/busybox sh
# The first program of the guest's disk. It mounts, asks for an address on every interface, reads its metadata, admits the
# user's SSH key and runs the user data, and tells all of it on the serial console and on the screen.
/bin/busybox --install -s /bin 2>/dev/null
export PATH=/bin:/usr/bin:/usr/sbin HOME=/root
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
rm -f /run/udhcpc.*
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
exec </dev/console >/dev/console 2>&1
say() {
  echo "guest: $*"
  echo "guest: $*" >/dev/tty0
}
hostname guest
ip link set lo up
say "kernel $(uname -r)"
for path in /sys/class/net/eth*; do
  interface=${path##*/}
  ip link set "$interface" up
  udhcpc -i "$interface" -p "/run/udhcpc.$interface.pid" -s /bin/lease -t 5 -T 3 -A 3 -b >/dev/null 2>&1
done
dropbearkey -t ed25519 -f /etc/dropbear/dropbear_ed25519_host_key >/dev/null 2>&1
chmod 700 /root /root/.ssh
dropbear -s -j -k
say "SSH listens"
mkdir -p /tmp/www
httpd -p 80 -h /tmp/www
service=http://169.254.169.254
tell_metadata() {
  until name=$(wget -q -T 5 -O - "$service/latest/meta-data/hostname" 2>/dev/null); do
    sleep 2
  done
  hostname "${name%%.*}"
  echo "$name" >/tmp/www/index.html
  say "name $name"
  if wget -q -T 5 -O /root/.ssh/authorized_keys "$service/latest/meta-data/public-keys/0/openssh-key" 2>/dev/null; then
    say "SSH key $(cut -d ' ' -f 1 /root/.ssh/authorized_keys)"
  fi
  chmod 600 /root/.ssh/authorized_keys
  say "ready"
  if wget -q -T 5 -O /tmp/user-data "$service/latest/user-data" 2>/dev/null; then
    say "user data $(sh /tmp/user-data 2>&1 | tail -n 1)"
  fi
}
tell_metadata &
exec setsid sh -c 'exec sh </dev/ttyS0 >/dev/ttyS0 2>&1'
