"""Preparation of a machine before all other steps: packages, programs, kernel, clock and container runtime."""

from components.preparation.machine_steps import parts

__all__ = ["parts"]
