"""Rendered stacks of tests/engine, with which the tests compare the changes that a preview reports."""

from tests.engine.conftest import engine, first_up, rendered, standing

__all__ = ["engine", "first_up", "rendered", "standing"]
