"""Bad inputs as data, each with the only message that its reader must report. test_bad_inputs.py runs them."""

from __future__ import annotations

from tests.blueprint.stackfile.bad_inputs import (
    addresses,
    architectures,
    backups,
    bootstrap,
    brokers,
    external_ceph,
    kubeconfigs,
    leftovers,
    numbers,
    options,
    paths,
    preparation,
    secrets,
    text,
    topologies,
    values,
    virtual_machines,
)
from tests.blueprint.stackfile.bad_inputs.case import Bad

CASES: dict[str, Bad] = {
    f"{module.__name__.rpartition('.')[2]}: {name}": bad
    for module in (
        addresses,
        architectures,
        backups,
        bootstrap,
        brokers,
        external_ceph,
        kubeconfigs,
        leftovers,
        numbers,
        options,
        paths,
        preparation,
        secrets,
        text,
        topologies,
        values,
        virtual_machines,
    )
    for name, bad in module.CASES.items()
}
