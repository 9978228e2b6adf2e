"""Every workload by its service's name: what the rows of the reference architectures run as."""

from __future__ import annotations

from components.openstack import (
    alertmanager,
    ceph,
    cinder,
    fluentd,
    glance,
    horizon,
    keystone,
    mariadb,
    neutron,
    nova,
    opensearch,
    placement,
    prometheus,
    rabbitmq,
)
from components.openstack.workload import Workload

_PROJECTS = (
    keystone,
    nova,
    neutron,
    glance,
    cinder,
    placement,
    horizon,
    rabbitmq,
    mariadb,
    ceph,
    opensearch,
    prometheus,
    fluentd,
    alertmanager,
)

CATALOGUE: dict[str, Workload] = {workload.service: workload for project in _PROJECTS for workload in project.WORKLOADS}
