"""Writes configuration files as text. The same values give the same bytes; the sources of values are not written.

A file has up to two texts: one without secrets for a ConfigMap, and one with its secrets for a Secret object.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from openstack.config.layers import (
    ConfigFile,
    Document,
    Repeated,
    Reveal,
    Scalar,
    Secret,
    Setting,
    TextFile,
    Value,
    WrittenFile,
)


def public_text(file: WrittenFile) -> str | None:
    """Returns a file's text for a ConfigMap, which contains no secrets.

    None for a file with secrets that has no fragment for them, so that all of it is secret. Raises ValueError for a
    value that the file's format cannot represent.
    """
    if isinstance(file, TextFile):
        return None if secret_names(file) else _joined(file, _never)
    if file.fragment is None and secret_names(file):
        return None
    return _text(file, _selected(file.document(), with_secrets=False), _never)


def secret_text(file: WrittenFile, reveal: Reveal) -> str | None:
    """Returns a file's text for a Secret object, with its secrets; None for a file without secrets.

    `reveal`: returns the secret of a key. Raises ValueError for a value that the file's format cannot represent.
    """
    if not secret_names(file):
        return None
    if isinstance(file, TextFile):
        return _joined(file, reveal)
    if file.fragment is None:
        return _text(file, file.document(), reveal)
    return _text(file, _selected(file.document(), with_secrets=True), reveal)


def secret_names(file: WrittenFile) -> frozenset[str]:
    """Returns the keys of the secrets that a configuration file contains, such as nova/database."""
    if isinstance(file, TextFile):
        return frozenset(part.key for part in file.parts if isinstance(part, Secret))
    settings = (setting for options in file.document().values() for setting in options.values())
    return frozenset(secret.key for setting in settings for secret in _secrets(setting.value))


def value_text(option: str, value: Value) -> str:
    """Returns a value as text for users: a secret as its name in angle brackets, several values separated by commas."""
    values = value.values if isinstance(value, Repeated) else value
    return _value(option, values, "<{}>".format)


def _never(name: str) -> str:
    raise ValueError(f"secret {name} in a text without secrets")


def _joined(file: TextFile, reveal: Reveal) -> str:
    return "".join(part.revealed(reveal) if isinstance(part, Secret) else part for part in file.parts)


def _selected(document: Document, *, with_secrets: bool) -> Document:
    """Returns the settings of a document that contain secrets, or those without secrets.

    Empty sections are left out.
    """
    chosen = {
        name: {option: each for option, each in options.items() if bool(_secrets(each.value)) == with_secrets}
        for name, options in document.items()
    }
    return {name: options for name, options in chosen.items() if options}


def _secrets(value: Value) -> list[Secret]:
    values = value.values if isinstance(value, Repeated) else value if isinstance(value, tuple) else (value,)
    return [each for each in values if isinstance(each, Secret)]


def _text(file: ConfigFile, document: Document, reveal: Reveal) -> str:
    return _flat(document, reveal) if file.format == "flat" else _ini(document, reveal)


def _ini(document: Document, reveal: Reveal) -> str:
    """Returns a document as oslo.config text: DEFAULT first, sections separated by an empty line, lists by commas."""
    names = sorted(document, key=lambda name: (name != "DEFAULT", name))
    blocks = [f"[{name}]\n" + "".join(f"{line}\n" for line in _lines(document[name], reveal)) for name in names]
    return "\n".join(blocks)


def _flat(document: Document, reveal: Reveal) -> str:
    sections = [name for name in document if name]
    if sections:
        raise ValueError(f"section {sections[0]}: this format has no sections")
    return "".join(f"{line}\n" for line in _lines(document.get("", {}), reveal))


def _lines(options: Mapping[str, Setting], reveal: Reveal) -> Iterator[str]:
    for option, setting in options.items():
        values = setting.value.values if isinstance(setting.value, Repeated) else (setting.value,)
        for value in values:
            yield f"{option} = {_value(option, value, reveal)}".rstrip()


def _value(option: str, value: Value, reveal: Reveal) -> str:
    if isinstance(value, tuple):
        return ",".join(_value(option, each, reveal) for each in value)
    if isinstance(value, Repeated):
        raise TypeError(f"{option}: a repeated option inside of a list")
    return _scalar(option, value, reveal)


def _scalar(option: str, value: Scalar, reveal: Reveal) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    text = value.revealed(reveal) if isinstance(value, Secret) else str(value)
    if "\n" in text:
        raise ValueError(f"{option}: a value has one line, not {text.count(chr(10)) + 1}")
    return text
