"""Bad inputs: stack files with paths outside of the project, to missing files, or to files of a wrong kind."""

from __future__ import annotations

import os

from tests.blueprint.stackfile.bad_inputs.case import Bad, stack

KEYS = ("template", "topology", "architecture")
OUT = "leads out of the project; write a path inside the project, relative to its directory, such as own/file.yaml"


def path(key: str, value: str, said: str) -> Bad:
    return Bad(stack(**{key: value}), f"quorate:{key}: {said}")


def template(content: str | bytes, said: str) -> Bad:
    return Bad(stack(template="domain.xml"), f"quorate:template: domain.xml {said}", files={"domain.xml": content})


CASES = {
    **{f"{key} /etc/passwd": path(key, "/etc/passwd", f"'/etc/passwd' {OUT}") for key in KEYS},
    **{f"{key} above the project": path(key, "../x", f"'../x' {OUT}") for key in KEYS},
    **{f"{key} above by a detour": path(key, "a/../../x", f"'a/../../x' {OUT}") for key in KEYS},
    **{f"{key} of a home": path(key, "~/x", f"'~/x' {OUT}") for key in KEYS},
    **{f"{key} of nothing": path(key, "", "'' is not a valid path") for key in KEYS},
    **{f"{key} of 2000 letters": path(key, "a" * 2000, f"'{'a' * 57}…' is not a valid path") for key in KEYS},
    "a template with a new line": path("template", "a\nb", "'a\\nb' is not a valid path"),
    "a template beyond the file system": path("template", "a" * 300, f"{'a' * 300} cannot be read: file name too long"),
    "a template of the directory": path("template", ".", ". cannot be read: it is a directory; write the path"),
    "a template by a link": Bad(
        lambda file: (file.write_text(stack(template="x.xml")), (file.parent / "x.xml").symlink_to("/etc/passwd")),
        "quorate:template: 'x.xml' is a symbolic link out of the project; write a path inside the project",
    ),
    "a template in a loop": Bad(
        lambda file: (file.write_text(stack(template="x.xml")), (file.parent / "x.xml").symlink_to("x.xml")),
        "quorate:template: x.xml cannot be read: its symbolic links form a loop",
    ),
    "a template that waits": Bad(
        lambda file: (file.write_text(stack(template="x.xml")), os.mkfifo(file.parent / "x.xml")),
        "quorate:template: x.xml cannot be read: it is a named pipe",
    ),
    "a template of bytes": template(b"\x80", "cannot be read: it is not UTF-8 text: line 1 has the byte 0x80"),
    "a template beyond the limit": template("x" * 300_000, "cannot be read: it has more than 262144 bytes"),
    "a template of text": template(
        "domain", "is not valid XML: syntax error: line 1, column 0; write a libvirt domain"
    ),
    "a template of a page": template("<html/>", "holds 'html'; write a libvirt domain"),
    "a template with entities": template(
        '<!DOCTYPE d [<!ENTITY a "x"><!ENTITY b "&a;&a;&a;&a;">]><domain>&b;</domain>',
        "has a document type; remove <!DOCTYPE …>, a domain needs none",
    ),
    "a template of another file": template(
        '<!DOCTYPE d [<!ENTITY a SYSTEM "file:///etc/passwd">]><domain>&a;</domain>', "has a document type"
    ),
    "an architecture by a link": Bad(
        lambda file: (
            file.write_text(stack(architecture="x.yaml")),
            (file.parent / "x.yaml").symlink_to("/etc/passwd"),
        ),
        "quorate:architecture: 'x.yaml' is a symbolic link out of the project",
    ),
    "an architecture of secrets": Bad(
        stack(architecture="x.yaml"),
        "quorate:architecture: x.yaml: is not a mapping; write",
        files={"x.yaml": "hunter2\n"},
    ),
}
