"""`quorate config`: every option of a service, with its layer and source, and no secret."""

from __future__ import annotations

import pytest

from commands import service_configuration
from components.openstack.config.formats import public_text
from components.openstack.config.layers import ConfigFile
from tests.fakes import ROOT
from toolchain.progress import UserError


def shown(service: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert service_configuration.show(ROOT, "dev", service) == 0
    return capsys.readouterr().out


def test_every_option_has_its_layer_and_source(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown("nova-conductor", capsys).splitlines()
    assert lines[0] == "# nova.conf of nova-conductor"
    workers = next(line for line in lines if line.startswith("workers"))
    assert (
        workers.split("#")[1].strip() == "architecture: cores requested by nova-conductor (blueprint/plan/sizing.yaml)"
    )
    assert all("#" in line for line in lines if line and not line.startswith("["))


def test_secrets_are_shown_by_their_names(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown("keystone", capsys)
    assert "connection = mysql+pymysql://keystone:<keystone/database>@proxysql.openstack.svc:3306/keystone" in text
    assert "(text, not made of options, with the secrets keystone/fernet-key-0)" in text


def test_what_is_shown_is_what_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown("nova-compute", capsys)
    made = service_configuration.plan(service_configuration.load_file(ROOT / "Pulumi.dev.yaml"))
    for file in service_configuration.configuration.of_service(made, "nova-compute"):
        if isinstance(file, ConfigFile):
            for line in (public_text(file) or "").splitlines():
                assert line in text


def test_an_unknown_service_is_an_error_with_a_suggestion() -> None:
    with pytest.raises(UserError, match=r"nova-conducter is not a service of dev \(did you mean 'nova-conductor'\?\)"):
        service_configuration.show(ROOT, "dev", "nova-conducter")
