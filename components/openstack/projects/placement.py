"""Placement: what nova-scheduler asks. In no table of source 004, which calls it 'work in progress' (004, 5.4.5)."""

from components.openstack.definition import Container, File, Http, Port, ProcessDefinition, ProjectDefinition, Tcp

API = ProcessDefinition(
    name="placement-api",
    project="placement",
    kind="Deployment",
    uid=42482,
    exposed=((8780, "api"),),
    containers=(
        Container(
            name="placement-api",
            image="placement-api",
            user="placement",
            command="uwsgi /etc/placement/placement-api-uwsgi.ini",
            ports=(Port("api", 8780),),
            ready=Http("api"),
            alive=Tcp("api"),
            files=(
                File("placement.conf", "/etc/placement/placement.conf"),
                File("placement-api-uwsgi.ini", "/etc/placement/placement-api-uwsgi.ini"),
            ),
        ),
    ),
)

PROJECT = ProjectDefinition(
    name="placement",
    needs=("keystone", "mariadb"),
    processes=(API,),
)
