"""Keystone: identity. `healthcheck` is oslo.middleware's, in Keystone's own pipeline."""

from components.openstack.definition import Container, File, Http, Port, ProcessDefinition, ProjectDefinition, Tcp

KEYSTONE = ProcessDefinition(
    name="keystone",
    project="keystone",
    kind="Deployment",
    uid=42425,
    exposed=((5000, "api"),),
    containers=(
        Container(
            name="keystone",
            image="keystone",
            user="keystone",
            command="uwsgi /etc/keystone/keystone-api-uwsgi.ini",
            ports=(Port("api", 5000),),
            ready=Http("api", "/healthcheck"),
            alive=Tcp("api"),
            files=(
                File("keystone.conf", "/etc/keystone/keystone.conf"),
                File("keystone-paste.ini", "/etc/keystone/keystone-paste.ini"),
                File("keystone-api-uwsgi.ini", "/etc/keystone/keystone-api-uwsgi.ini"),
            ),
        ),
    ),
)

PROJECT = ProjectDefinition(
    name="keystone",
    needs=("mariadb",),
    processes=(KEYSTONE,),
)
