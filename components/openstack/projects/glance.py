"""Glance: images, kept in Ceph (004, 5.3.17). glance-registry is gone from Glance: the API does its work."""

from components.openstack.definition import Container, File, Http, Port, ProcessDefinition, ProjectDefinition, Tcp

API = ProcessDefinition(
    name="glance-api",
    project="glance",
    kind="Deployment",
    uid=42415,
    exposed=((9292, "api"),),
    containers=(
        Container(
            name="glance-api",
            image="glance-api",
            user="glance",
            command="uwsgi /etc/glance/glance-api-uwsgi.ini",
            ports=(Port("api", 9292),),
            ready=Http("api", "/healthcheck"),
            alive=Tcp("api"),
            files=(
                File("glance-api.conf", "/etc/glance/glance-api.conf"),
                File("glance-api-uwsgi.ini", "/etc/glance/glance-api-uwsgi.ini"),
                File("ceph.conf", "/etc/ceph/ceph.conf"),
            ),
        ),
    ),
)

PROJECT = ProjectDefinition(
    name="glance",
    needs=("keystone", "mariadb", "ceph"),
    processes=(API,),
)
