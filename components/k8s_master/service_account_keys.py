"""The question before an API server restarts with other keys of service accounts.

All others must accept the key that signs then. No token may be in use whose key would not be accepted any more.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from blueprint.plan.plan import Plan
from components.k8s_master.static_pods import TOKEN_KEYS, StaticPod
from components.machine import File, Parts
from files.yaml_writer import literal

SCRIPT = "/usr/local/lib/quorate/service-account-keys"


def parts() -> Parts:
    """Returns the script of a master."""
    return Parts((File(SCRIPT, literal(_script()), mode=0o755),))


def question(plan: Plan, pod: StaticPod) -> str:
    """Returns shell commands that ask if the manifest of the API server will have other keys than now."""
    addresses = " ".join(each.address for each in plan.masters)
    return f'{pod.has(TOKEN_KEYS)} ||\n  sh "$ROOT{SCRIPT}" {addresses}\n'


@cache
def _script() -> str:
    return (Path(__file__).parent / "service_account_keys.sh").read_text(encoding="utf-8")
