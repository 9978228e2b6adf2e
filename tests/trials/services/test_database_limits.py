"""Services stop waiting for a database that does not answer; jobs that change tables wait as long as that takes."""

from __future__ import annotations

import configparser
from collections.abc import Mapping

import pytest

from trials.services.containers import TriedContainer

CHANGES_TABLES = ("db_sync", "db sync", "neutron-db-manage", "cells.sh", "online_data_migrations")
"""Parts of the commands of jobs that change tables."""
JOBS = 8
"""How many of these jobs the stack has: one a project, and Nova's migration on request."""


def limits(container: TriedContainer) -> dict[str, str]:
    """Returns the parameters of the container's connections to the database, by section."""
    found: dict[str, str] = {}
    for path, file in container.files.items():
        if path.endswith(".conf") and "connection_parameters" in file.text:
            options = configparser.RawConfigParser(strict=False)
            options.read_string(file.text)
            sections = (each for each in options.sections() if options.has_option(each, "connection_parameters"))
            found |= {each: options.get(each, "connection_parameters") for each in sections}
    return found


@pytest.fixture(scope="module")
def limited(containers: Mapping[str, TriedContainer]) -> Mapping[str, tuple[TriedContainer, dict[str, str]]]:
    """The containers that use the database, with their limits."""
    found = {title: (container, limits(container)) for title, container in containers.items()}
    return {title: (container, each) for title, (container, each) in found.items() if each}


def changes_tables(container: TriedContainer) -> bool:
    return any(each in container.command for each in CHANGES_TABLES)


def test_services_stop_waiting(limited: Mapping[str, tuple[TriedContainer, dict[str, str]]]) -> None:
    services = {title: each for title, (container, each) in limited.items() if not changes_tables(container)}
    assert len(services) > JOBS
    for each in services.values():
        assert all("connect_timeout" in text and "read_timeout" in text for text in each.values())


def test_jobs_that_change_tables_wait(limited: Mapping[str, tuple[TriedContainer, dict[str, str]]]) -> None:
    jobs = [pair for pair in limited.values() if changes_tables(pair[0])]
    assert len(jobs) == JOBS
    for _, each in jobs:
        for text in each.values():
            assert "connect_timeout" in text
            assert "read_timeout" not in text
            assert "write_timeout" not in text
