"""How operations run scripts on machines: commands/live/machine_shell.py makes it of the login of a stack file."""

from __future__ import annotations

from collections.abc import Callable

from blueprint.plan.nodes import Node
from cluster.pod_exec import CommandOutput

Shell = Callable[[Node, str, float], CommandOutput]
"""Runs a script as root on a machine, within so many seconds. The code is None if the machine was not reached, or the
script did not end in time."""
