"""Lists the options of OpenStack's configuration files. Runs in the environment of an OpenStack release.

Reads {file: [namespace, …]} from standard input and writes {"files": {file: document}, "auth": […]} to standard output;
a document is the output of oslo-config-generator. Run it once per project: importing a project takes most of the time,
and two projects in one process would register some options twice. The release's modules are imported by name, because
Quorate's own environment does not have them.
"""

from __future__ import annotations

import io
import json
import sys
from contextlib import redirect_stdout
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any


def listed(namespaces: list[str]) -> dict[str, Any]:
    """Returns the output of `oslo-config-generator --format json` for the namespaces that the release has.

    Raises LookupError if the release does not have the first namespace.
    """
    generator = import_module("oslo_config.generator")
    known = {entry.name for entry in entry_points(group="oslo.config.opts")}
    if namespaces[0] not in known:
        raise LookupError(f"there is no namespace {namespaces[0]}")
    arguments = [word for name in namespaces if name in known for word in ("--namespace", name)]
    with redirect_stdout(io.StringIO()) as text:
        generator.main(["--format", "json", *arguments])
    document: dict[str, Any] = json.loads(text.getvalue())
    repeated = _repeated(known & set(namespaces))
    for section, group in document["options"].items():
        for option in group["opts"]:
            if (section, option["dest"]) in repeated:
                option["type"] = "multi valued"
    return document


def _repeated(namespaces: set[str]) -> set[tuple[str, str]]:
    """Returns section and name of the options that may be repeated, which the generator's output does not show."""
    return {
        (str(getattr(group, "name", group) or "DEFAULT"), option.dest)
        for name in namespaces
        for entry in entry_points(group="oslo.config.opts", name=name)
        for group, options in entry.load()()
        for option in options
        if option.multi
    }


def auth_options() -> list[dict[str, object]]:
    """Returns the options of keystoneauth and its plugin `password`, which some projects use but do not list."""
    loading = import_module("keystoneauth1.loading")
    options = [*loading.get_auth_common_conf_options(), *loading.get_auth_plugin_conf_options("password")]
    return [
        {
            "name": option.dest,
            "secret": option.secret,
            "old": [old.name for old in option.deprecated_opts],
        }
        for option in options
    ]


def main() -> None:
    files: dict[str, list[str]] = json.load(sys.stdin)
    documents = {file: listed(namespaces) for file, namespaces in files.items()}
    json.dump({"files": documents, "auth": auth_options()}, sys.stdout)


if __name__ == "__main__":
    main()
