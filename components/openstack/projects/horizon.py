"""Horizon: the dashboard. Django answers a probe that names the pod's address with 400, hence TCP."""

from components.openstack.definition import Container, File, Port, ProcessDefinition, ProjectDefinition, Tcp

HORIZON = ProcessDefinition(
    name="horizon",
    project="horizon",
    kind="Deployment",
    uid=42420,
    exposed=((80, "http"),),
    containers=(
        Container(
            name="horizon",
            image="horizon",
            user="horizon",
            command="uwsgi /etc/horizon/horizon-uwsgi.ini",
            ports=(Port("http", 8080),),
            ready=Tcp("http"),
            alive=Tcp("http"),
            files=(
                File("horizon-uwsgi.ini", "/etc/horizon/horizon-uwsgi.ini"),
                File("local_settings.py", "/etc/openstack-dashboard/local_settings.d/_9999-custom-settings.py"),
            ),
        ),
    ),
)

PROJECT = ProjectDefinition(
    name="horizon",
    needs=("keystone",),
    processes=(HORIZON,),
)
