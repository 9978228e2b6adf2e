#!/bin/busybox sh
# What udhcpc does with a lease: it gives the interface its address, routes, MTU and name servers.
# udhcpc sets the variables. Lists are divided into words.
# shellcheck disable=SC2086,SC2154
case $1 in
deconfig) ip address flush dev "$interface" scope global ;;
bound | renew)
  ip address replace "$ip/$mask" dev "$interface"
  if [ "$mtu" ]; then ip link set "$interface" mtu "$mtu"; fi
  for address in $router; do ip route replace default via "$address" dev "$interface"; done
  set -- $staticroutes
  while [ $# -ge 2 ]; do
    ip route replace "$1" via "$2" dev "$interface"
    shift 2
  done
  : >/etc/resolv.conf
  if [ "$domain" ]; then echo "search $domain" >>/etc/resolv.conf; fi
  for address in $dns; do echo "nameserver $address" >>/etc/resolv.conf; done
  echo "guest: lease $ip on $interface" >/dev/console
  echo "guest: lease $ip on $interface" >/dev/tty0
  ;;
esac
