"""Reads the lists of OpenStack's configuration options, and checks the options that a stack file sets.

The lists in options/<release>/ come from the release's own oslo-config-generator; `python -m toolchain.option_lists`
writes them. A list is read when it is needed for the first time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from blueprint.openstack.given_secret import FORMS, GivenSecret
from blueprint.openstack.projects.records import Records
from blueprint.problems import Problem, quoted, shown
from text.suggestion import did_you_mean

Kind = Literal["string", "integer", "float", "boolean", "port", "list", "dict", "multi"]
Scalar = str | int | float | bool
Value = Scalar | tuple[Scalar, ...] | GivenSecret
Sections = Mapping[str, Mapping[str, Value]]
"""Values of options in a stack file for one configuration file, by section and then by option."""

_LISTS = Path(__file__).parent / "options"
_CONTEXTS = "privsep"
_WHOLE_FILE = "write the whole file under services.<name>.config"
_BOOLEANS = {"true", "false", "yes", "no", "on", "off", "1", "0"}
"""Words that oslo.config accepts as a boolean, in upper or lower case."""


@dataclass(frozen=True)
class Option:
    """An option of a configuration file."""

    kind: Kind
    """The type of the option's value.

    An option of type multi is written once for each value, a list or dict in one line with values separated by commas.
    """
    secret: bool = False
    renamed: str | None = None
    """The option that replaces this one, as section/name; None if the name is current."""
    removal: str | None = None
    """The reason, which may be "", why a later release removes the option; None if no removal is announced."""


@cache
def listed(release: str, file: str) -> Mapping[str, Mapping[str, Option]]:
    """Returns the options of a configuration file by section and name.

    Raises FileNotFoundError if there is no list for the file or the release.
    """
    sections: dict[str, dict[str, dict[str, Any]]] = json.loads(
        (_LISTS / release / f"{file}.json").read_text(encoding="utf-8")
    )
    return {
        section: {name: Option(**facts) for name, facts in options.items()} for section, options in sections.items()
    }


def is_listed(release: str, file: str) -> bool:
    """Whether there is a list of a file's options."""
    return (_LISTS / release / f"{file}.json").exists()


def files_by_project(records: Records) -> Mapping[str, tuple[str, ...]]:
    """Returns the configuration files whose options a stack file may set, by project. Other projects are left out."""
    return {name: tuple(record.options) for name, record in records.by_name.items() if record.options}


def plain_by_project(records: Records) -> Mapping[str, Mapping[str, Literal["ini", "flat"]]]:
    """Returns the files without a list of options that a stack file may set options of, each with its form."""
    return {name: record.plain_options for name, record in records.by_name.items() if record.plain_options}


def plain_problems(key: str, form: Literal["ini", "flat"], sections: Sections) -> Iterator[Problem]:
    """Yields the problems of options of a file without a list: sections that its form does not have, or needs.

    `key`: the stack file's key with the file.
    """
    for section, given in sections.items():
        if form == "flat" and section:
            yield Problem(f"{key}.{section}", f'is a section, and the file has none; write {{"": {{{section}: …}}}}')
        if form == "ini" and not section:
            yield Problem(key, "has options without a section; write the section's name in place of the empty text")
        for name, value in given.items():
            if isinstance(value, GivenSecret):
                wrong = "is a secret, which only files of OpenStack's programs can have; remove it"
                yield Problem(f"{key}.{section}.{name}", wrong)
            elif isinstance(value, tuple):
                yield Problem(f"{key}.{section}.{name}", "is a list; write the value as the program reads it, as text")
            elif wrong := _misfit("string", value):
                yield Problem(f"{key}.{section}.{name}", wrong)


def problems(
    key: str, project: str, known: Collection[str], release: str, files: Mapping[str, Sections]
) -> Iterator[Problem]:
    """Yields the problems of a project's options in a stack file.

    `key`: the stack file's key with the options. `known`: the project's files whose options a stack file may set.
    """
    for file, sections in files.items():
        if not known:
            yield Problem(f"{key}.{file}", f"has no list of options; {_WHOLE_FILE}")
        elif file not in known:
            hint = did_you_mean(file, known)
            yield Problem(f"{key}.{file}", f"is not a file of {project}{hint}; write one of: {', '.join(known)}")
        elif not is_listed(release, file):  # of a stack's own project
            yield Problem(f"{key}.{file}", f"has no list of options in {release}; {_WHOLE_FILE}")
        else:
            yield from _file_problems(f"{key}.{file}", release, file, sections)


def _file_problems(key: str, release: str, file: str, sections: Sections) -> Iterator[Problem]:
    lists = listed(release, file)
    backends = _backends(file, sections)
    for section, options in sections.items():
        known = lists.get(backends.get(section, as_listed(section)))
        if known is None:
            yield Problem(f"{key}.{section}", _unknown_section(file, section, lists))
            continue
        for name, value in options.items():
            wrong = _wrong(name, value, section, known, f"{file} of OpenStack {release}")
            if wrong:
                yield Problem(f"{key}.{section}.{name}", wrong)


def as_listed(section: str) -> str:
    """Returns the section of the lists that has a section's options.

    Each context of oslo.privsep, such as that of os-brick, has a section of its own with the options of `privsep`.
    """
    return _CONTEXTS if section.startswith(f"{_CONTEXTS}_") else section


def _unknown_section(file: str, section: str, known: Mapping[str, object]) -> str:
    advice = f"write one of {file}, such as {next(iter(known))}"
    if file in _BACKENDS:
        advice += ", or name the section of a backend in DEFAULT.enabled_backends"
    return f"is not a section{did_you_mean(section, known)}; {advice}"


def _wrong(name: str, value: Value, section: str, known: Mapping[str, Option], where: str) -> str | None:
    """Returns why an option is invalid, and the text to write instead; None if the option is valid."""
    option = known.get(canonical(name))
    if option is None:
        hint = did_you_mean(canonical(name), known)
        return f"is not an option of section {section} in {where}{hint}; write an option of its configuration reference"
    if option.renamed:
        return f"is deprecated in {where}; write {option.renamed.replace('/', '.')}"
    if isinstance(value, GivenSecret):
        return None
    if option.secret:
        return (
            "is a secret, and a stack file is not; remove it, because Quorate derives its services' passwords and "
            f"connection addresses; if another system gave it, write {FORMS}"
        )
    return _misfit(option.kind, value)


def canonical(name: str) -> str:
    """Returns the option's name with underscores in place of dashes, both of which oslo.config accepts."""
    return name.replace("-", "_")


def warnings(key: str, known: Collection[str], release: str, files: Mapping[str, Sections]) -> Iterator[str]:
    """Yields a warning for each option of a project that works in this release and that a later release removes.

    `key`, `known`: as in `problems`.
    """
    for file, sections in files.items():
        if file not in known:
            continue
        lists = listed(release, file)
        for section, options in sections.items():
            for name in options:
                option = lists.get(section, {}).get(canonical(name))
                if option and option.removal is not None:
                    reason = option.removal or "it gives no reason"
                    yield f"{key}.{file}.{section}.{name}: a release after {release} removes this option ({reason})"


def _misfit(kind: Kind, value: Scalar | tuple[Scalar, ...]) -> str | None:
    """Returns why a value does not fit the option's type; None if it does. `$name`, another option's value, fits."""
    texts = value if isinstance(value, tuple) else (value,)
    if any(isinstance(text, str) and ("\n" in text or "\r" in text) for text in texts):
        return "has a value of several lines; write one line"
    if isinstance(value, tuple):
        return None if kind in ("list", "dict", "multi") else f"a list does not fit; write {_EXPECTED[kind]}"
    if isinstance(value, str) and value.startswith("$"):
        return None
    fits = _FITS.get(kind)
    if fits is None or fits(value):
        return None
    return f"{shown(value) if not isinstance(value, str) else quoted(value)} does not fit; write {_EXPECTED[kind]}"


def _is_integer(value: Scalar) -> bool:
    return not isinstance(value, bool) and (isinstance(value, int) or _converts(int, value))


def _is_float(value: Scalar) -> bool:
    return not isinstance(value, bool) and _converts(float, value)


def _is_boolean(value: Scalar) -> bool:
    return isinstance(value, bool) or str(value).lower() in _BOOLEANS


def _is_port(value: Scalar) -> bool:
    return _is_integer(value) and 0 <= int(value) <= 65535


def _converts(kind: Callable[[str], object], value: Scalar) -> bool:
    try:
        kind(str(value))
    except ValueError:
        return False
    return True


_FITS: dict[Kind, Callable[[Scalar], bool]] = {
    "integer": _is_integer,
    "float": _is_float,
    "boolean": _is_boolean,
    "port": _is_port,
    "dict": lambda value: isinstance(value, str),
}
_EXPECTED: dict[Kind, str] = {
    "string": "one value",
    "integer": "a whole number",
    "float": "a number",
    "boolean": "true or false",
    "port": "a port, 0 to 65535",
    "dict": "text such as key:value,key:value",
}

_BACKENDS = {"cinder.conf": "backend_defaults", "glance-api.conf": "glance.store.{type}.store"}
"""Files in which the operator names sections (backends), each with the section of the list that has their options."""
_STORES = ("os_glance_staging_store", "os_glance_tasks_store")
"""Glance's two internal stores, which are directories of the node."""


def _backends(file: str, sections: Sections) -> dict[str, str]:
    """Maps each backend's section, named in enabled_backends, to the section of the list with the backend's options."""
    if file not in _BACKENDS:
        return {}
    enabled = sections.get("DEFAULT", {}).get("enabled_backends", ())
    words = enabled if isinstance(enabled, tuple) else str(enabled).split(",")
    pairs = [str(word).strip().partition(":") for word in words]
    found = {name: _listed_as(file, kind) for name, _, kind in pairs if name}
    if file == "glance-api.conf":
        found |= dict.fromkeys(_STORES, "file")
    return found


def _listed_as(file: str, kind: str) -> str:
    return kind if kind in ("cinder", "file") else _BACKENDS[file].format(type=kind)
