"""Options of the stack file in the rendered configuration."""

from __future__ import annotations

from typing import Any

from openstack.config import sections
from openstack.config.formats import public_text
from openstack.config.layers import ConfigFile, Layer, Origin, TextFile
from openstack.config.overrides import with_options
from tests.stacks import full_size, parsed

FILE = ConfigFile(
    "nova.conf", "ini", (Layer(Origin.PROJECT, "-", {"DEFAULT": {"debug": False, "reserved_host_cpus": 1}}),)
)


def text(service: str | None, **stack: Any) -> str | None:
    return public_text(with_options(FILE, parsed(full_size("100", **stack)), "nova", service))


def options(**default: Any) -> dict[str, Any]:
    return {"options": {"nova.conf": {"DEFAULT": default}}}


def test_a_project_overrides_quorate_and_a_service_its_project() -> None:
    stack = {"projects": {"nova": options(debug=True, reserved_host_cpus=2)}}
    stack["services"] = {"nova-api": options(reserved_host_cpus=3)}
    assert text("nova-api", **stack) == "[DEFAULT]\ndebug = true\nreserved_host_cpus = 3\n"
    assert text("nova-scheduler", **stack) == "[DEFAULT]\ndebug = true\nreserved_host_cpus = 2\n"


def test_a_job_takes_the_options_of_its_project() -> None:
    stack = {"projects": {"nova": options(debug=True)}, "services": {"nova-api": options(reserved_host_cpus=3)}}
    assert text(None, **stack) == "[DEFAULT]\ndebug = true\nreserved_host_cpus = 1\n"


def test_a_repeated_option_is_written_once_for_each_value_and_a_list_with_commas() -> None:
    given = {"nova.conf": {"pci": {"alias": ["a", "b"]}, "vnc": {"auth-schemes": ["none", "vencrypt"]}}}
    written = text("nova-api", services={"nova-api": {"options": given}})
    assert written is not None
    assert "[pci]\nalias = a\nalias = b\n" in written
    assert "[vnc]\nauth_schemes = none,vencrypt\n" in written


def test_a_job_that_changes_tables_takes_the_stack_files_parameters_of_the_connection() -> None:
    """Such as TLS to the database, which the job must not lose."""
    limited = Layer(Origin.PROJECT, "-", {"database": {"connection_parameters": sections.LIMITED}})
    file = sections.with_long_statements(ConfigFile("nova.conf", "ini", (limited,)))
    assert public_text(file) == f"[database]\nconnection_parameters = {sections.CONNECT}\n"
    given = {"options": {"nova.conf": {"database": {"connection_parameters": "ssl_ca=/ca.pem"}}}}
    written = public_text(with_options(file, parsed(full_size("100", projects={"nova": given})), "nova", None))
    assert written == "[database]\nconnection_parameters = ssl_ca=/ca.pem\n"


def test_what_is_not_made_of_options_stays() -> None:
    script = TextFile("nova.conf", ("text",))
    assert (
        with_options(script, parsed(full_size("100", projects={"nova": options(debug=True)})), "nova", None) is script
    )
