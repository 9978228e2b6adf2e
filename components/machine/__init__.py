"""Machines, their files and the steps that configure them, the same for rendered files and live machines."""

from components.machine.parts import File, Parts, Quorum, Step, Unit, filled
from components.machine.resources import Machine, MachineArgs, MachinePool, MachinePoolArgs, start, variables

__all__ = [
    "File",
    "Machine",
    "MachineArgs",
    "MachinePool",
    "MachinePoolArgs",
    "Parts",
    "Quorum",
    "Step",
    "Unit",
    "filled",
    "start",
    "variables",
]
