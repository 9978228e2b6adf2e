# Starts a Ceph monitor. Its store is created once. The first monitor map has the first members at their nodes' addresses,
# so it needs all of them; later, a new or emptied member only needs the quorum, which tells it the current map.
configuration=/etc/ceph secrets=/var/lib/kolla/secrets store=/var/lib/ceph/mon/data alone=/var/lib/ceph/mon/alone
as="--setuser ceph --setgroup ceph --id $POD_NAME"

address() {
    if [ "${1%%.*}" = "$POD_NAME" ]; then echo "$POD_IP"; else getent ahostsv4 "$1" | { read -r ip _ && echo "$ip"; }; fi
}

# Writes the map of the members that have an address. Fails if one has none.
first_map() {
    monmaptool --create --clobber --fsid "$(cat $secrets/fsid)" "$1" >/dev/null
    missing=0
    while read -r member; do
        ip=$(address "$member")
        if [ -n "$ip" ]; then
            monmaptool --addv "${member%%.*}" "[v2:$ip:3300,v1:$ip:6789]" "$1" >/dev/null
        else
            missing=1
        fi
    done <$configuration/monitors
    return $missing
}

in_map() { monmaptool --print "$1" | grep -q "mon\.$POD_NAME$"; }

# Removes the others from the map after they were lost for good. The mark of ceph_survivor.py is the number of the map that
# has them: the map without them has the next number, so that an old mark removes none.
go_on_alone() {
    map=/run/ceph/monmap
    # shellcheck disable=SC2086
    ceph-mon $as --mon-data $store --extract-monmap $map
    monmaptool --print $map >$map.text
    if grep -qx "epoch $(cat $alone)" $map.text; then
        for other in $(sed -n 's/^[0-9]*: .* mon\.//p' $map.text); do
            [ "$other" = "$POD_NAME" ] || monmaptool --rm "$other" $map
        done
        # shellcheck disable=SC2086
        ceph-mon $as --mon-data $store --inject-monmap $map
    fi
    rm $alone
}

install -d -o ceph -g ceph /run/ceph
# Tells Prometheus whether this monitor is in the quorum, also when there is none: then no manager tells anything.
until python3 -IS $configuration/ceph_state.py \
    serve "$POD_IP" 9284 mon_status "/run/ceph/ceph-mon.$POD_NAME.asok" leader peon; do
    sleep 5
done &
if [ ! -d $store ]; then
    until { first_map /tmp/monmap && in_map /tmp/monmap; } || timeout 15 ceph mon stat >/dev/null 2>&1; do
        echo "waiting for the first members of $configuration/monitors, or for a quorum to join"
        sleep 2
    done
    in_map /tmp/monmap || monmaptool --addv "$POD_NAME" "[v2:$POD_IP:3300,v1:$POD_IP:6789]" /tmp/monmap
    rm -rf $store.new
    install -d -o ceph -g ceph $store.new
    # shellcheck disable=SC2086
    ceph-mon --mkfs $as --mon-data $store.new --monmap /tmp/monmap --keyring $secrets/mon.keyring
    mv $store.new $store
fi
touch /run/ceph/reads-alone
if [ -f $alone ]; then go_on_alone; fi
# shellcheck disable=SC2086
exec ceph-mon --foreground $as --mon-data $store --public-addr "$POD_IP"
