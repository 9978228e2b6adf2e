#!/usr/bin/env -S python3 -u
"""A pack that does not start."""

raise RuntimeError("this pack does not start")
