# Writes this node's settings as a chassis of OVN into the switch's database, and starts ovn-controller.
# Each line of the list has a key and its value, for all nodes. An empty value removes the key.
socket=/run/openvswitch/db.sock
set_key() {
  if [ -n "$2" ]; then
    ovs-vsctl --retry --timeout=120 --no-wait --db="unix:$socket" set Open_vSwitch . "external-ids:$1=\"$2\""
  else
    ovs-vsctl --retry --timeout=120 --no-wait --db="unix:$socket" remove Open_vSwitch . external-ids "$1"
  fi
}
set_key system-id "$NODE_NAME"
set_key hostname "$NODE_NAME"
overlay="/var/lib/quorate/node-values/$NODE_NAME.overlay"
if [ -f "$overlay" ]; then
  read -r POD_IP <"$overlay"
fi
set_key ovn-encap-ip "$POD_IP"
while read -r key value; do
  set_key "$key" "$value"
done </etc/ovn/chassis
exec ovn-controller "unix:$socket" --unixctl=/run/openvswitch/ovn-controller.ctl -vconsole:info -vsyslog:off -vfile:off
