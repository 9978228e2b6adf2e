"""Text of configuration files. The same document always gives the same bytes; origins of values are not written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from components.openstack.config.layers import ConfigFile, Document, Repeated, Scalar, Setting, Value


def render(file: ConfigFile) -> str:
    """Returns the file's text. Raises ValueError for a value or a section that its format cannot hold."""
    document = file.document()
    return _flat(document) if file.format == "flat" else _ini(document)


def _ini(document: Document) -> str:
    """oslo.config's form: DEFAULT first, sections separated by an empty line, a list as one comma-separated value."""
    names = sorted(document, key=lambda name: (name != "DEFAULT", name))
    blocks = [f"[{name}]\n" + "".join(f"{line}\n" for line in _lines(document[name])) for name in names]
    return "\n".join(blocks)


def _flat(document: Document) -> str:
    sections = [name for name in document if name]
    if sections:
        raise ValueError(f"section {sections[0]}: this format has no sections")
    return "".join(f"{line}\n" for line in _lines(document.get("", {})))


def _lines(options: Mapping[str, Setting]) -> Iterator[str]:
    for option, setting in options.items():
        values = setting.value.values if isinstance(setting.value, Repeated) else (setting.value,)
        for value in values:
            yield f"{option} = {_text(option, value)}".rstrip()


def _text(option: str, value: Value) -> str:
    if isinstance(value, tuple):
        return ",".join(_text(option, each) for each in value)
    if isinstance(value, Repeated):
        raise TypeError(f"{option}: a repeated option inside of a list")
    return _scalar(option, value)


def _scalar(option: str, value: Scalar) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value)
    if "\n" in text:
        raise ValueError(f"{option}: a value has one line, not {text.count(chr(10)) + 1}")
    return text
