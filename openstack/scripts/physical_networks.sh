# Creates the Open vSwitch bridges of the physical networks, adds the interfaces of this node, and starts a program.
# Arguments: the program and its own arguments. Each line of the list has a bridge and, if the node has one, an interface.
# A list of the node replaces the list for all nodes. The bridges get the datapath type of Neutron's L2 agent.
values=/var/lib/quorate/node-values
networks="$values/$NODE_NAME.networks"
if [ ! -f "$networks" ]; then
  networks=/etc/openvswitch/physical-networks
fi
datapath=$(cat /etc/openvswitch/openvswitch_agent.ini "$values/$NODE_NAME.conf" 2>/dev/null |
  sed -n 's/^datapath_type *= *//p' | tail -n 1)
while read -r bridge interface; do
  # ovs-vswitchd, which applies the change, is not running yet; the database's container may still be starting.
  ovs-vsctl --retry --timeout=120 --no-wait --may-exist add-br "$bridge" -- \
    set bridge "$bridge" "datapath_type=${datapath:-system}"
  if [ -n "$interface" ]; then
    ovs-vsctl --timeout=30 --no-wait --may-exist add-port "$bridge" "$interface"
  fi
done <"$networks"
exec "$@"
