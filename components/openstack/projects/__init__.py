"""The projects of an environment. To add one, write its file here and add it to `PROJECTS`."""

from __future__ import annotations

from components.openstack.definition import ProcessDefinition, ProjectDefinition
from components.openstack.projects import (
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
"""Each project after the projects that it needs."""

PROCESSES: dict[str, ProcessDefinition] = {
    process.name: process for project in PROJECTS for process in project.processes
}
"""Every process by its name, which is also its name in the plan."""
