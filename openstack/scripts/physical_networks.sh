# Creates the Open vSwitch bridges of the physical networks, adds the interfaces of this node, and starts a program.
# Arguments: the program and its own arguments. Each line of the list has a bridge, its datapath type and, if the node has
# one, an interface. A list of the node replaces the list for all nodes.
networks="/var/lib/quorate/node-values/$NODE_NAME.networks"
if [ ! -f "$networks" ]; then
  networks=/etc/openvswitch/physical-networks
fi
while read -r bridge datapath interface; do
  # ovs-vswitchd, which applies the change, is not running yet; the database's pod may still be starting.
  ovs-vsctl --retry --timeout=120 --no-wait --may-exist add-br "$bridge" -- \
    set bridge "$bridge" "datapath_type=$datapath"
  if [ -n "$interface" ]; then
    ovs-vsctl --timeout=30 --no-wait --may-exist add-port "$bridge" "$interface"
  fi
done <"$networks"
