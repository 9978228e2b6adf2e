"""Quorate's own projects, without those of a stack's own, and without the optional ones if not said otherwise."""

from __future__ import annotations

from blueprint.openstack.options import files_by_project
from blueprint.openstack.projects.records import all_own_records, own_records
from blueprint.plan.companions import beside_rows
from openstack.project_definitions import processes, projects

RECORDS = own_records()
EVERY_RECORD = all_own_records()
"""The records of the optional projects too."""
PROJECTS = projects(RECORDS)
PROCESSES = processes(RECORDS)
COMPANIONS = {name: beside.of for name, beside in beside_rows(RECORDS).items()}
"""The service beside which each companion runs."""
DATABASES = {name: record.databases for name, record in RECORDS.by_name.items() if record.databases}
"""Names of each project's databases."""
SUBDOMAINS = {name: process.subdomain for name, process in RECORDS.processes.items() if process.subdomain}
"""Subdomain of each process that clients outside of the cluster can reach."""
OPTION_FILES = files_by_project(EVERY_RECORD)
"""Configuration files of each project whose options a stack file may set."""
