"""The OpenStack projects of an environment. To add a project, write its module here and add it to `PROJECTS`."""

from __future__ import annotations

from openstack.definition import ProcessDefinition, ProjectDefinition
from openstack.projects import (
    alertmanager,
    bootstrap,
    ceph,
    cinder,
    fluentd,
    glance,
    heat,
    horizon,
    keystone,
    mariadb,
    memcached,
    neutron,
    nova,
    opensearch,
    placement,
    prometheus,
    rabbitmq,
    radosgw,
)

PROJECTS: tuple[ProjectDefinition, ...] = (
    mariadb.PROJECT,
    rabbitmq.PROJECT,
    memcached.PROJECT,
    ceph.PROJECT,
    keystone.PROJECT,
    glance.PROJECT,
    placement.PROJECT,
    neutron.PROJECT,
    nova.PROJECT,
    bootstrap.PROJECT,
    cinder.PROJECT,
    radosgw.PROJECT,
    heat.PROJECT,
    horizon.PROJECT,
    opensearch.PROJECT,
    prometheus.PROJECT,
    fluentd.PROJECT,
    alertmanager.PROJECT,
)
"""All projects, ordered so that each comes after the projects that it needs."""

PROCESSES: dict[str, ProcessDefinition] = {
    process.name: process for project in PROJECTS for process in project.processes
}
"""The definition of every process, by the process's name in the plan."""
