"""Writes the options of an OpenStack release into blueprint/openstack/options/: `python -m toolchain.option_lists`.

The options come from the release's oslo-config-generator and from its authentication plugin. The namespaces of each
configuration file are those of <project>-config-generator.conf in the project's source archive. Blueprint reads the
lists, so that it needs no installed OpenStack (blueprint/openstack/options.py).
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypedDict

import yaml

from console.errors import UserError
from console.exit_codes import exit_code
from console.progress import Reporter
from toolchain.install import ROOT
from toolchain.openstack_programs import ensure, releases

LISTS = ROOT / "blueprint" / "openstack" / "options"
PROGRAM = ROOT / "toolchain" / "openstack" / "list_options.py"

RECORDS = ROOT / "blueprint" / "openstack" / "projects"
PROJECTS: dict[str, dict[str, list[str]]] = {
    path.stem: options
    for path in sorted(RECORDS.glob("*.yaml"))
    if (options := yaml.safe_load(path.read_text(encoding="utf-8")).get("options"))
}
"""Configuration files of each project, and the namespaces of their options, from the projects' records. The first
namespace of a file is the project's own and must exist; others are skipped if a release does not have them."""

_KINDS = {
    "boolean value": "boolean",
    "dict value": "dict",
    "floating point value": "float",
    "integer value": "integer",
    "list value": "list",
    "multi valued": "multi",
    "port value": "port",
}
"""Kind of an option by its type name in oslo-config-generator. Options of all other types are strings."""


class WrittenOption(TypedDict, total=False):
    """An option as it is written to an option list. Keys that do not apply to the option are left out."""

    kind: str
    """Kind of the option: string, integer, float, boolean, port, list, dict or multi (may be written several times)."""
    secret: bool
    renamed: str
    """For a deprecated option that was renamed, the new section and name, as section/name."""
    removal: str
    """For an option that a later release removes, the reason that the release gives."""


_UNLISTED: dict[str, dict[str, dict[str, WrittenOption]]] = {
    "cinder.conf": {"backend_defaults": {"backend_host": {"kind": "string"}}},
    "dhcp_agent.ini": {"ovs": {"datapath_type": {"kind": "string"}}},
    "l3_agent.ini": {"ovs": {"datapath_type": {"kind": "string"}}},
    "sriov_agent.ini": {"securitygroup": {"firewall_driver": {"kind": "string"}}},
}
"""Options that oslo-config-generator does not list, by file and section. cinder-volume registers the first for each
backend (cinder/cmd/volume.py). The driver of the agents' interfaces registers those of the L2 agent, of which it reads
this one (neutron/agent/linux/interface.py). The agent of SR-IOV reads the driver of security groups
(neutron/agent/securitygroups_rpc.py)."""


def list_of(document: dict[str, Any], auth: list[dict[str, Any]]) -> dict[str, dict[str, WrittenOption]]:
    """Returns the options of a configuration file by section; old names of options are listed as renamed options.

    `document`: output of oslo-config-generator for the file. `auth`: options of the authentication plugin.
    """
    sections: dict[str, dict[str, WrittenOption]] = {}
    for section, group in document["options"].items():
        options = {_name(each["dest"]): _option(each) for each in group["opts"]}
        authenticates = {"auth_type", "auth_url"} & options.keys()
        sections[section] = _auth(section, auth) | options if authenticates else options
    for section, old_ones in document["deprecated_options"].items():
        for old in old_ones:
            target = sections.get(old["replacement_group"], {}).get(_name(old["replacement_name"]))
            if target is not None and _name(old["name"]) not in sections.get(section, {}):
                now = f"{old['replacement_group']}/{_name(old['replacement_name'])}"
                sections.setdefault(section, {})[_name(old["name"])] = {**target, "renamed": now}
    return {section: dict(sorted(options.items())) for section, options in sorted(sections.items()) if options}


def _option(entry: dict[str, Any]) -> WrittenOption:
    option = WrittenOption(kind=_KINDS.get(entry["type"], "string"))
    if entry["secret"]:
        option["secret"] = True
    if entry["deprecated_for_removal"]:
        option["removal"] = " ".join((entry["deprecated_reason"] or "").split())
    return option


def _auth(section: str, options: list[dict[str, Any]]) -> dict[str, WrittenOption]:
    found: dict[str, WrittenOption] = {}
    for each in options:
        option = WrittenOption(kind="string", secret=True) if each["secret"] else WrittenOption(kind="string")
        found[_name(each["name"])] = option
        found |= {_name(old): {**option, "renamed": f"{section}/{_name(each['name'])}"} for old in each["old"]}
    return found


def _name(name: str) -> str:
    """Returns an option's name with underscores, as in configuration files; oslo.config also accepts dashes."""
    return name.replace("-", "_")


def text_of(sections: dict[str, dict[str, WrittenOption]]) -> str:
    """Returns an option list as JSON with one option per line, so that a diff of two releases is readable."""
    blocks: list[str] = []
    for section, options in sections.items():
        lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(option)}" for name, option in options.items())
        blocks.append(f" {json.dumps(section)}: {{\n{lines}\n }}")
    return "{\n" + ",\n".join(blocks) + "\n}\n"


def make(release: str, reporter: Reporter) -> dict[str, str]:
    """Returns the text of each option list of a release, by file name. Raises UserError if options cannot be listed."""
    home = ensure(release, reporter)
    texts: dict[str, str] = {}
    for project, files in PROJECTS.items():
        reporter.begin(f"Listing the options of {project} {release}")
        done = subprocess.run(
            [home / "bin" / "python", "-E", "-W", "ignore", PROGRAM],
            input=json.dumps(files),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise UserError(f"The options of {project} could not be listed:\n{done.stderr[-2000:]}")
        found = json.loads(done.stdout)
        for file, document in found["files"].items():
            sections = list_of(document, found["auth"])
            for section, options in _UNLISTED.get(file, {}).items():
                sections[section] = dict(sorted((sections.get(section, {}) | options).items()))
            texts[f"{file}.json"] = text_of(sections)
        reporter.end()
    return texts


def main() -> int:
    """Writes the option lists of the releases in the arguments, by default of all releases."""
    reporter = Reporter()
    return exit_code(lambda: _write(sys.argv[1:] or releases(), reporter), reporter)


def _write(wanted: Iterable[str], reporter: Reporter) -> None:
    for release in wanted:
        texts = make(release, reporter)
        directory = LISTS / release
        directory.mkdir(parents=True, exist_ok=True)
        for file, text in texts.items():
            Path(directory / file).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
