"""Machines, their files and the steps that configure them, the same for rendered files and live machines."""

from components.machine.member_restart import MemberQuorum
from components.machine.parts import File, Parts, Question, Step, Unit, filled
from components.machine.resources import MachineArgs, MachineComponent, MachinePool, MachinePoolArgs, start, variables

__all__ = [
    "File",
    "MachineArgs",
    "MachineComponent",
    "MachinePool",
    "MachinePoolArgs",
    "MemberQuorum",
    "Parts",
    "Question",
    "Step",
    "Unit",
    "filled",
    "start",
    "variables",
]
