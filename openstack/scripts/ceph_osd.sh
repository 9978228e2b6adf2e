# Starts the OSDs of a node: one for each disk that `ceph-volume lvm prepare` or `ceph-volume raw prepare` has prepared. No
# disk is ever prepared, and so emptied, by itself. When an OSD ends, the pod ends, and all start again.
secrets=/var/lib/kolla/secrets
install -d -o ceph -g ceph /run/ceph
install -D -m 600 -o ceph -g ceph $secrets/client.bootstrap-osd.keyring /var/lib/ceph/bootstrap-osd/ceph.keyring
trap 'kill $(jobs -p); wait; exit 0' TERM
# `raw list` finds whole disks. Other devices, such as loop devices, are found by the name /dev/ceph-osd-*.
raw_disks() {
    ceph-volume raw list $(ls /dev/ceph-osd-* 2>/dev/null) |
        python3 -c 'import json, sys; print(*(osd["device"] for osd in json.loads(sys.stdin.read() or "{}").values()))'
}
activate() {
    ceph-volume lvm activate --all --no-systemd
    for disk in $(raw_disks); do
        ceph-volume raw activate --device "$disk" --no-systemd
    done
    ls /var/lib/ceph/osd/ceph-*/whoami >/dev/null 2>&1
}
until activate; do
    echo "no prepared disk; prepare one in this container: ceph-volume lvm prepare --data /dev/DISK"
    sleep 30 & wait $!
done
for data in /var/lib/ceph/osd/ceph-*; do
    ceph-osd --foreground --setuser ceph --setgroup ceph --id "${data##*-}" \
        --public-addr "$POD_IP" --cluster-addr "$POD_IP" &
done
wait -n
exit 1
