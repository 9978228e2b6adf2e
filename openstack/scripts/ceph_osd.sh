# Starts the OSDs of a node: one for each disk that `ceph-volume lvm prepare` or `ceph-volume raw prepare` has prepared. No
# disk is ever prepared, and so emptied, by itself. An OSD that ends is started again alone: one whose disk failed stops no
# other OSD of the node. The pod is not ready meanwhile.
secrets=/var/lib/kolla/secrets run=/run/ceph keyring=/var/lib/ceph/bootstrap-osd/ceph.keyring pause=30
install -d -o ceph -g ceph $run
install -D -m 600 -o ceph -g ceph $secrets/client.bootstrap-osd.keyring $keyring
trap 'kill $(jobs -p); wait; exit 0' TERM

# Prints number, identity and device of the OSD on each disk; of one with LVM, which has its own list, no device.
# `raw list` finds whole disks. Other devices, such as loop devices, are found by the name /dev/ceph-osd-*.
disks() {
    {
        ceph-volume lvm list --format json | python3 -c '
import json, sys
for disk in sum(json.loads(sys.stdin.read() or "{}").values(), []):
    if disk["type"] == "block":
        print(disk["tags"]["ceph.osd_id"], disk["tags"]["ceph.osd_fsid"])'
        ceph-volume raw list $(ls /dev/ceph-osd-* 2>/dev/null) | python3 -c '
import json, sys
for disk in json.loads(sys.stdin.read() or "{}").values():
    if "device" in disk:  # otherwise its database is left alone, and the disk is gone
        print(disk["osd_id"], disk["osd_uuid"], disk["device"])'
    } | awk '!seen[$2]++'
}

# Whether Ceph answers that it has no OSD with this number and identity: it was purged, and its disk is still in the node.
# Another disk may have its number by now.
purged() {
    timeout 30 ceph --name client.bootstrap-osd --keyring $keyring osd dump --format=json </dev/null 2>/dev/null |
        python3 -c '
import json, sys
sys.exit((sys.argv[1], sys.argv[2]) in {(str(osd["osd"]), osd["uuid"]) for osd in json.load(sys.stdin)["osds"]})
' "$1" "$2" 2>/dev/null
}

activate() {
    if [ "$3" ]; then
        ceph-volume raw activate --device "$3" --no-systemd
    else
        ceph-volume lvm activate "$1" "$2" --no-systemd
    fi
}

# Runs the OSD of a disk until Ceph has purged it. Its socket, or a file in its place, tells the probe that it does not run.
keep() {
    trap 'kill $(jobs -p); wait; exit 0' TERM
    until purged "$1" "$2"; do
        if activate "$@"; then
            ceph-osd --foreground --setuser ceph --setgroup ceph --id "$1" --public-addr "$POD_IP" --cluster-addr "$POD_IP" &
            wait $! || true
        fi
        echo "OSD $1 has ended, or its disk could not be activated; next attempt in $pause s"
        [ -e "$run/ceph-osd.$1.asok" ] || touch "$run/ceph-osd.$1.asok"
        sleep $pause &
        wait $!
    done
    rm -f "$run/ceph-osd.$1.asok"
    echo "Ceph has purged OSD $1: its disk is left alone"
}

while :; do
    disks >$run/disks
    while read -r id identity device; do
        keep "$id" "$identity" "$device" </dev/null &
    done <$run/disks
    wait
    echo "no prepared disk of an OSD; prepare one in this container: ceph-volume lvm prepare --data /dev/DISK"
    sleep $pause &
    wait $!
done
