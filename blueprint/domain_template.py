"""A user's own libvirt domain template (`quorate:template`): its places, and whether it can be used at all.

Fuel's rules hold (source 000, Data model impact): a value that the template does not use changes nothing, and a place
without a value is left empty. So an unknown place is not an error.
"""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

from blueprint.problems import Problem

PLACE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
"""A place for a value, such as {ram}."""

KEY = "quorate:template"


def problems(path: str | None) -> list[Problem]:
    """Returns why the file cannot serve as a domain template; nothing for a usable file, or where none is named."""
    if path is None:
        return []
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        advice = "write the path of a libvirt domain template, or leave the key out"
        return [Problem(KEY, f"{path} cannot be read: {reason}; {advice}")]
    try:
        # Values are escaped when they are filled in, so any text shows whether the result is XML.
        root = ElementTree.fromstring(PLACE.sub("x", text))  # noqa: S314 - the stack owner's own file
    except ElementTree.ParseError as error:
        return [Problem(KEY, f"{path} is not valid XML: {error}; write a libvirt domain, <domain type='{{type}}'>…")]
    if root.tag != "domain":
        return [Problem(KEY, f"{path} holds <{root.tag}>; write a libvirt domain, <domain type='{{type}}'>…")]
    return []
