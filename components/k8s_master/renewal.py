"""The renewal of kubeadm's certificates, which are valid for a year, on one master at a time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from blueprint.plan.nodes import Node
from components.k8s_master.etcd import UNITS
from components.machine import File, Parts, Step, Unit
from files.yaml_writer import literal

SCRIPT = "/usr/local/lib/quorate/renew-certificates"
TIMER = "certificate-renewal.timer"
_TIMER = """\
[Unit]
Description=Renewal of kubeadm's certificates before they expire, every day

[Timer]
OnCalendar=daily
RandomizedDelaySec=12h
Persistent=true

[Install]
WantedBy=timers.target
"""
"""A random delay, so that masters which were set up on the same day do not wait for each other."""


def parts(others: Sequence[Node], after: str) -> Parts:
    """Returns a master's timer and script. `others`: the other masters. `after`: the step that enters the cluster."""
    return Parts(
        files=(
            File(SCRIPT, literal(_script()), mode=0o755),
            File(f"{UNITS}/certificate-renewal.service", literal(_unit(others))),
            File(f"{UNITS}/{TIMER}", literal(_TIMER), restarts=Unit(TIMER)),
        ),
        steps=(
            Step(
                name="start-certificate-renewal",
                does="Starts the daily look at kubeadm's certificates, which are renewed before they expire.",
                check=f"systemctl is-active --quiet {TIMER}",
                apply=f"systemctl enable --now --quiet {TIMER}",
                leave=f"systemctl disable --now --quiet {TIMER} || :",
                after=(after,),
            ),
        ),
    )


def _unit(others: Sequence[Node]) -> str:
    return f"""\
[Unit]
Description=Renewal of kubeadm's certificates before they expire
After=kubelet.service

[Service]
Type=oneshot
ExecStart={" ".join((SCRIPT, *(node.address for node in others)))}
"""


@cache
def _script() -> str:
    return (Path(__file__).parent / "renew_certificates.sh").read_text(encoding="utf-8")
