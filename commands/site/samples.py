"""Samples of what Quorate writes, as pages of the site: the audit of a lab, made anew by each build, and a drill."""

from __future__ import annotations

import shutil
from pathlib import Path

from commands import deployment
from console.errors import UserError
from files import atomic

STACK = "dev"
"""The stack whose audit is shown: a lab on three servers."""
AUDIT = """# Sample: the audit of a lab

`make audit` wrote this page when the site was built, from the stack file `Pulumi.dev.yaml`.
[Auditing a stack](../auditing.md) explains it. Select a server in the map to see what its loss would affect.
[The page alone](dev.html){target="_blank"}

<iframe class="sample" src="dev.html" title="The audit of the stack dev" loading="lazy"></iframe>
"""
DRILL = """# Sample: a drill

A picture of the page that `make drill SERVER=virt3` wrote on a host with two cores. A drill needs a running cloud and
about an hour, so it is not made anew with the site. [A cloud on one machine](../cloud.md#drills) describes drills, and
has the [results](../cloud.md#results-of-drills) of all of them.

![Server virt3 without power for 105 seconds. Each quorum keeps two of its three members and is whole again within 4
and a half minutes after the power is back. Most APIs answer part of the requests for the first 40 seconds, some with
gaps while pods start again. Kubernetes answers all the time](../drill.png)
"""


def write(root: Path, target: Path) -> None:
    """Audits the stack dev with the engine, and writes the samples into the folder `target`."""
    if deployment.audit(root, STACK):
        raise UserError(f"The audit of {STACK} fails, so the site has no sample. Fix what `make audit` reports.")
    target.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(root / "build" / STACK / "audit" / "audit.html", target / f"{STACK}.html")
    atomic.write(target / "audit.md", AUDIT)
    atomic.write(target / "drill.md", DRILL)
