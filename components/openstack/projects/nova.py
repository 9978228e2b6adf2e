"""Nova: API with its metadata service, scheduler, conductor, and the agent of every compute with libvirt.

Source 004 installs nova-compute on the host (004, 5.3.7); here it is Kolla's pair of containers, privileged and on the
host's network as in Kolla and Fuel-CCP. Guests belong to systemd-machined's slice through /run and the cgroup tree,
outside of the pod's own group, so that the pod's limits do not touch them.
"""

from components.openstack.definition import (
    AMQP,
    Container,
    Exec,
    File,
    HostPath,
    Http,
    Port,
    ProcessDefinition,
    ProjectDefinition,
    Tcp,
    port_check,
    runs,
)

UID = 42436
CONFIGURATION = File("nova.conf", "/etc/nova/nova.conf")

API = ProcessDefinition(
    name="nova-api",
    project="nova",
    kind="Deployment",
    uid=UID,
    exposed=((8774, "api"), (8775, "metadata")),
    containers=(
        Container(
            name="nova-api",
            image="nova-api",
            user="nova",
            command="uwsgi /etc/nova/nova-api-uwsgi.ini",
            ports=(Port("api", 8774),),
            ready=Http("api"),
            alive=Tcp("api"),
            files=(CONFIGURATION, File("nova-api-uwsgi.ini", "/etc/nova/nova-api-uwsgi.ini")),
            share=3,
        ),
        Container(
            name="nova-metadata",
            image="nova-api",
            user="nova",
            command="uwsgi /etc/nova/nova-metadata-uwsgi.ini",
            ports=(Port("metadata", 8775),),
            ready=Http("metadata"),
            alive=Tcp("metadata"),
            files=(CONFIGURATION, File("nova-metadata-uwsgi.ini", "/etc/nova/nova-metadata-uwsgi.ini")),
        ),
    ),
)


def _worker(service: str) -> ProcessDefinition:
    process = Container(
        name=service,
        image=service,
        user="nova",
        command=service,
        ready=port_check(service, AMQP),
        alive=runs(service),
        files=(CONFIGURATION,),
    )
    return ProcessDefinition(name=service, project="nova", kind="Deployment", uid=UID, containers=(process,))


SCHEDULER = _worker("nova-scheduler")
CONDUCTOR = _worker("nova-conductor")

_SHARED_WITH_LIBVIRT = (
    HostPath(name="run", path="/run", shared=True),
    HostPath(name="dev", path="/dev"),
    HostPath(name="modules", path="/lib/modules", read_only=True),
    HostPath(name="nova", path="/var/lib/nova", shared=True),
    HostPath(name="libvirt", path="/var/lib/libvirt"),
)

COMPUTE = ProcessDefinition(
    name="nova-compute",
    project="nova",
    kind="DaemonSet",
    uid=UID,
    host_network=True,
    host_pid=True,
    host_ipc=True,
    containers=(
        Container(
            name="nova-compute",
            image="nova-compute",
            user="nova",
            command="nova-compute",
            ready=port_check("nova-compute", AMQP),
            alive=runs("nova-compute"),
            files=(CONFIGURATION,),
            host_paths=_SHARED_WITH_LIBVIRT,
            owns=("/var/lib/nova",),
            environment=(("LIBGUESTFS_BACKEND", "direct"),),
            privileged=True,
        ),
        Container(
            name="nova-libvirt",
            image="nova-libvirt",
            user="root",
            command="/usr/local/bin/kolla_nova_libvirt_start",
            ports=(Port("libvirt", 16509),),
            ready=Exec(("virsh", "version", "--daemon")),
            alive=Exec(("virsh", "version", "--daemon")),
            files=(File("libvirtd.conf", "/etc/libvirt/libvirtd.conf"), File("qemu.conf", "/etc/libvirt/qemu.conf")),
            host_paths=(
                *_SHARED_WITH_LIBVIRT,
                HostPath(name="cgroup", path="/sys/fs/cgroup"),
                HostPath(name="libvirt-qemu", path="libvirt-qemu", mount="/etc/libvirt/qemu"),
            ),
            privileged=True,
        ),
    ),
)

PROJECT = ProjectDefinition(
    name="nova",
    needs=("keystone", "mariadb", "rabbitmq", "glance", "placement", "neutron"),
    processes=(API, SCHEDULER, CONDUCTOR, COMPUTE),
)
