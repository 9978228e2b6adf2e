"""The authority of computes is replaced in three deployments, while a virtual machine runs and moves between them."""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from blueprint.stackfile.certificate_generations import Generations
from blueprint.version_steps import problems
from tests.components.k8s_master.test_certificates import REPLACEMENT
from tests.trials.services.migrating_computes import OMITTED, PAUSED, Guest, MigratingCompute, computes, connections
from trials.services.containers import TriedContainer
from trials.services.testbed import until

pytestmark = pytest.mark.heavy
OLD = "/old"
BOTH, NEXT, ALONE = REPLACEMENT


def both_ways(guest: Guest, first: MigratingCompute, second: MigratingCompute) -> None:
    """Moves the virtual machine to the other compute and back."""
    for to in (second, first):
        assert guest.migrate(to) == ""


def keep_old(compute: MigratingCompute) -> None:
    """Keeps the compute's certificate of the first generation."""
    for name in ("clientcert.pem", "private/clientkey.pem"):
        compute.in_pod("cp", f"/etc/pki/libvirt/{name}", f"{OLD}/{Path(name).name}")
    compute.in_pod("cp", "--archive", "/etc/pki/qemu", f"{OLD}/qemu")


def test_an_authority_is_replaced_while_virtual_machines_run(
    bare_metal_root: Path, containers: Mapping[str, TriedContainer]
) -> None:
    with computes(bare_metal_root, containers) as (first, second):
        second.machine.run(["mkdir", OLD])
        keep_old(second)
        guest = Guest(first, (first, second))
        until("the virtual machine counts", lambda: guest.count() > 9, 60)
        deployed = Generations()
        for wanted in REPLACEMENT:
            started = time.monotonic()
            first.replace_pod()  # the virtual machine there goes on, with the mounts of the pod before
            recorded, planned = ({"authority computes": str(each)} for each in (deployed, wanted))
            assert problems(recorded, planned, is_live=True) == []
            with connections((first, second)) as results:
                assert first.deploy(wanted)
                both_ways(guest, first, second)
                if wanted == NEXT:
                    assert not second.deploy(wanted, PAUSED)
                    both_ways(guest, first, second)
                assert second.deploy(wanted)
            print(f"{wanted}: {time.monotonic() - started:.0f} s, {len(results)} connections", flush=True)
            assert results
            assert all(results)
            deployed = wanted
        check_refused(guest, first, second)
        counted = guest.count()
        steps = {(after - before) % 256 for before, after in itertools.pairwise(guest.counted)}
        print(f"the virtual machine counted to {counted}", flush=True)
        assert steps == {1}, "it ran all the time, and was never started again"


def check_refused(guest: Guest, first: MigratingCompute, second: MigratingCompute) -> None:
    """Who has only a certificate of the first generation is refused by libvirt and by QEMU of the other compute.

    It trusts both authorities: a client does not use a certificate that its own authorities have not signed.
    """
    second.in_pod("sh", "-ec", f"cat /etc/pki/CA/cacert.pem {OLD}/qemu/ca-cert.pem >{OLD}/cacert.pem")
    assert second.reaches(first)
    assert "TLS confirmation" in second.connect(first, f"?pkipath={OLD}")
    assert guest.migrate(second) == ""
    own = "/etc/quorate/compute/pki/qemu"
    copied = f"cp --archive {OLD}/qemu/client-* {own}; cat {OLD}/cacert.pem >{own}/ca-cert.pem"
    second.machine.run(["sh", "-ec", copied])
    refusal = guest.migrate(first)
    print(f"QEMU with the old certificate: {refusal}", flush=True)
    assert refusal
    assert "object-add" not in refusal, "QEMU has loaded the certificate"
    second.machine.run(["sh", "-c", "rm /etc/quorate/compute/pki/used"])
    assert second.deploy(ALONE)
    assert guest.migrate(first) == ""


def test_a_libvirtd_that_does_not_read_its_files_again_is_cut_off(
    bare_metal_root: Path, containers: Mapping[str, TriedContainer]
) -> None:
    """What the step would do without virt-admin: the files alone change nothing for a libvirtd that runs."""
    with computes(bare_metal_root, containers) as (first, second):
        assert first.deploy(BOTH)
        assert second.deploy(BOTH, OMITTED)
        assert first.deploy(NEXT)
        assert not first.reaches(second), "it trusts the first authority alone"
        assert second.deploy(NEXT)
        assert first.reaches(second)
        assert second.reaches(first)


def test_a_step_that_is_left_out_cuts_computes_off(
    bare_metal_root: Path, containers: Mapping[str, TriedContainer]
) -> None:
    """What the rule authority-trusted-before-use refuses."""
    assert problems({}, {"authority computes": str(NEXT)}, is_live=True)
    with computes(bare_metal_root, containers) as (first, second):
        guest = Guest(first, (first, second))
        assert first.deploy(NEXT)
        assert not first.reaches(second)
        assert guest.migrate(second)
        assert second.deploy(NEXT)
        assert guest.migrate(second) == ""
