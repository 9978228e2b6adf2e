# Creates the Open vSwitch bridges of the physical networks, adds the interfaces of this node, and starts a program.
# Arguments: the program and its own arguments. Each line of the file has a bridge and, if the node has one, an interface.
# A file for the node replaces the file for all nodes.
networks="/var/lib/quorate/node-values/$NODE_NAME.networks"
if [ ! -f "$networks" ]; then
  networks=/etc/openvswitch/physical-networks
fi
while read -r bridge interface; do
  # ovs-vswitchd, which applies the change, is not running yet; the database's container may still be starting.
  ovs-vsctl --retry --timeout=120 --no-wait --may-exist add-br "$bridge"
  if [ -n "$interface" ]; then
    ovs-vsctl --timeout=30 --no-wait --may-exist add-port "$bridge" "$interface"
  fi
done <"$networks"
exec "$@"
