"""Ceph: monitors, OSDs and the object gateway, from Ceph's own image; Kolla ships none.

Monitors stand on different physical nodes, nothing else runs beside OSDs, and the gateway runs where monitors do
(004, 5.4.14). An OSD pod carries every prepared disk of its node.
"""

from components.openstack.definition import (
    Claim,
    Container,
    Exec,
    HostPath,
    Http,
    Port,
    ProcessDefinition,
    ProjectDefinition,
    Tcp,
)

UID = 167
DAEMON = "--foreground --setuser ceph --setgroup ceph --default-log-to-file=false --default-log-to-stderr=true"

OSDS = f"""\
ceph-volume lvm activate --all --no-systemd
for data in /var/lib/ceph/osd/ceph-*; do
  ceph-osd {DAEMON} --id "${{data##*-}}" &
done
wait -n
"""

MON = ProcessDefinition(
    name="ceph-mon",
    project="ceph",
    kind="StatefulSet",
    uid=UID,
    claim=Claim(production=100, lab=10),
    grace=120,
    containers=(
        Container(
            name="ceph-mon",
            image="ceph",
            user="ceph",
            command=f"exec ceph-mon {DAEMON} --id $(POD_NAME) "
            "--public-addr $(POD_IP) --mon-data /var/lib/ceph/mon/data",
            # OSDs, and virtual machines with disks in Ceph, are on their nodes' networks.
            ports=(
                Port("msgr2", 3300, clients=("project", "needs", "nodes")),
                Port("msgr1", 6789, clients=("project", "needs", "nodes")),
            ),
            ready=Tcp("msgr2"),
            alive=Tcp("msgr2"),
            data="/var/lib/ceph/mon",
            kolla=False,
        ),
    ),
)

OSD = ProcessDefinition(
    name="ceph-osd",
    project="ceph",
    kind="DaemonSet",
    uid=UID,
    host_network=True,
    grace=120,
    containers=(
        Container(
            name="ceph-osd",
            image="ceph",
            user="ceph",
            command=OSDS,
            ready=Exec(("pgrep", "-x", "ceph-osd")),
            alive=Exec(("pgrep", "-x", "ceph-osd")),
            host_paths=(
                HostPath(name="dev", path="/dev"),
                HostPath(name="lvm", path="/run/lvm"),
                HostPath(name="udev", path="/run/udev", read_only=True),
            ),
            privileged=True,
            kolla=False,
            patience=15,
        ),
    ),
)

RADOSGW = ProcessDefinition(
    name="radosgw",
    project="ceph",
    kind="Deployment",
    uid=UID,
    exposed=((7480, "http"),),
    containers=(
        Container(
            name="radosgw",
            image="ceph",
            user="ceph",
            command=f"exec radosgw {DAEMON} --name client.rgw.$(POD_NAME) --rgw-frontends 'beast port=7480'",
            ports=(Port("http", 7480, clients=("everyone",)),),
            ready=Http("http", "/swift/healthcheck"),
            alive=Tcp("http"),
            kolla=False,
        ),
    ),
)

PROJECT = ProjectDefinition(
    name="ceph",
    processes=(MON, OSD, RADOSGW),
)
