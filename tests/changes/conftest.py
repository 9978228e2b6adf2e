"""The rendered stacks of tests/engine, for the comparison with a preview's own words."""

from tests.engine.conftest import engine, rendered

__all__ = ["engine", "rendered"]
