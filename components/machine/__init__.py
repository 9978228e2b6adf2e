"""Machines, the same for every target: what they are, the files that they have and the steps that are run on them."""

from components.machine.parts import File, Parts, Quorum, Step, Unit, filled
from components.machine.resources import Machine, MachineArgs, MachinePool, MachinePoolArgs, variables
from components.machine.turns import Turns

__all__ = [
    "File",
    "Machine",
    "MachineArgs",
    "MachinePool",
    "MachinePoolArgs",
    "Parts",
    "Quorum",
    "Step",
    "Turns",
    "Unit",
    "filled",
    "variables",
]
