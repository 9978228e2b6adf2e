"""Validates configuration files; runs in the environment of an OpenStack release, with its oslo-config-validator.

Reads a list of {name, text, namespaces, exclude} from standard input and writes {name: [complaint, …]} to standard
output. The files of one project share a process (toolchain/openstack/list_options.py says why). `exclude` are sections
with names of the deployer's choice, which no list of options has.
"""

from __future__ import annotations

import json
import logging
import sys
import tempfile
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

_LOGGERS = ("root", "oslo_config.validator")
"""Names of the validator's logger: until 2026.1, and later."""


class _Complaints(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.name in _LOGGERS:
            self.texts.append(record.getMessage())


def complaints(file: dict[str, Any]) -> list[str]:
    """What oslo-config-validator reports of a file: errors, and warnings of deprecated options."""
    validator = import_module("oslo_config.validator")
    known = {entry.name for entry in entry_points(group="oslo.config.opts")}
    handler = _Complaints()
    logging.getLogger().addHandler(handler)
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as copy:
        copy.write(file["text"])
        copy.flush()
        words = [word for name in file["namespaces"] if name in known for word in ("--namespace", name)]
        words += [word for name in file["exclude"] for word in ("--exclude-group", name)]
        sys.argv = ["oslo-config-validator", "--input-file", str(Path(copy.name)), *words]
        code = validator.main()
    logging.getLogger().removeHandler(handler)
    if code and not handler.texts:
        raise RuntimeError(f"{file['name']}: oslo-config-validator exited with {code} without a message")
    return handler.texts


def main() -> None:
    files: list[dict[str, Any]] = json.load(sys.stdin)
    json.dump({file["name"]: complaints(file) for file in files}, sys.stdout)


if __name__ == "__main__":
    main()
