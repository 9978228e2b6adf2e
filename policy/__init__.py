"""Quorate's Pulumi policy pack: it evaluates the resources of a stack, also hand-written ones, never Quorate's plan."""
