"""Cinder: volumes, kept in Ceph (004, 5.3.17), so that cinder-volume needs no device of its node and no privilege."""

from components.openstack.definition import (
    AMQP,
    Container,
    File,
    Http,
    Port,
    ProcessDefinition,
    ProjectDefinition,
    Tcp,
    port_check,
    runs,
)

UID = 42407
CONFIGURATION = File("cinder.conf", "/etc/cinder/cinder.conf")

API = ProcessDefinition(
    name="cinder-api",
    project="cinder",
    kind="Deployment",
    uid=UID,
    exposed=((8776, "api"),),
    containers=(
        Container(
            name="cinder-api",
            image="cinder-api",
            user="cinder",
            command="uwsgi /etc/cinder/cinder-api-uwsgi.ini",
            ports=(Port("api", 8776),),
            ready=Http("api", "/healthcheck"),
            alive=Tcp("api"),
            files=(CONFIGURATION, File("cinder-api-uwsgi.ini", "/etc/cinder/cinder-api-uwsgi.ini")),
        ),
    ),
)


def _worker(service: str, extra: tuple[File, ...] = ()) -> ProcessDefinition:
    process = Container(
        name=service,
        image=service,
        user="cinder",
        command=f"{service} --config-file {CONFIGURATION.path}",
        ready=port_check(service, AMQP),
        alive=runs(service),
        files=(CONFIGURATION, *extra),
        owns=("/var/lib/cinder",),
    )
    return ProcessDefinition(name=service, project="cinder", kind="Deployment", uid=UID, containers=(process,))


SCHEDULER = _worker("cinder-scheduler")
VOLUME = _worker("cinder-volume", extra=(File("ceph.conf", "/etc/ceph/ceph.conf"),))

PROJECT = ProjectDefinition(
    name="cinder",
    needs=("keystone", "mariadb", "rabbitmq", "ceph"),
    processes=(API, SCHEDULER, VOLUME),
)
