"""Reads a resource's properties and distinguishes unknown values from absent ones.

In a preview, every value that depends on a resource that does not exist yet is unknown. If a rule reads such a value,
`Properties` raises `NotKnown` with the resource and the property, and the rule is "not evaluated". Unknown values that
no rule reads have no effect.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast


class _Unknown:
    def __init__(self, *, sealed: bool) -> None:
        self.sealed = sealed

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN: Final = _Unknown(sealed=False)
"""In place of a value that the engine does not know yet."""
SEALED_UNKNOWN: Final = _Unknown(sealed=True)
"""The same for a value that will be a secret."""


class Sealed(str):
    """A text that the engine handles as a secret: encrypted in the state and never shown."""

    __slots__ = ()


class NotKnown(Exception):
    """A rule needs a value that this preview cannot know."""

    def __init__(self, resource: str, path: str) -> None:
        super().__init__(f"{path or 'its properties'} of {resource} cannot be known in this preview")


class Malformed(Exception):
    """A property has a type or form that is invalid for its resource."""


class Properties:
    """A value at a path in a resource's properties. An absent value reads as empty."""

    __slots__ = ("_path", "_resource", "_value")

    def __init__(self, value: object, resource: str, path: str = "") -> None:
        self._value = value
        self._resource = resource
        self._path = path

    def at(self, *keys: str) -> Properties:
        """The value below these keys."""
        value: Any = self._value  # not cast(): it is a call, and rules ask tens of thousands of times
        path = self._path
        for key in keys:
            if value.__class__ is not dict:  # a plain mapping needs no new object
                value = Properties(value, self._resource, path)._mapping()
            value = value.get(key)
            path = f"{path}.{key}" if path else key
        return Properties(value, self._resource, path)

    def items(self) -> Iterator[Properties]:
        """The values of a list."""
        value = self._known()
        if value is None:
            return
        if not isinstance(value, list):
            raise self._malformed("a list")
        for index, item in enumerate(cast("list[object]", value)):
            yield Properties(item, self._resource, f"{self._path}[{index}]")

    def is_known(self) -> bool:
        """Whether the value is known, which includes an absent value."""
        return not isinstance(self._value, _Unknown)

    def given(self) -> bool:
        """Whether the value is present. Raises NotKnown if it is unknown."""
        return self._known() is not None

    def keys(self) -> list[str]:
        """The keys of a mapping; their values may be unknown."""
        return list(self._mapping())

    def texts(self) -> Mapping[str, str]:
        """A mapping of texts, such as labels. An unknown value raises NotKnown only when it is read."""
        return Texts(self._mapping(), self._resource, self._path)

    def words(self) -> tuple[str, ...]:
        """A list of texts."""
        return tuple(item.text() for item in self.items())

    def text(self, default: str = "") -> str:
        """A text."""
        if self._value.__class__ is str:
            return cast("str", self._value)
        value = self._known()
        if value is None:
            return default
        if not isinstance(value, str):
            raise self._malformed("a text")
        return value

    def parsed(self) -> Properties:
        """Parses a text as JSON. Without a text, the value is absent."""
        text = self.text()
        try:
            value: object = json.loads(text) if text else None
        except ValueError:
            raise Malformed(f"{self._path} of {self._resource} is not valid JSON") from None
        return Properties(value, self._resource, self._path)

    def sealed(self) -> bool:
        """Whether the value is a secret, known or not."""
        if isinstance(self._value, _Unknown):
            return self._value.sealed
        return isinstance(self._value, Sealed)

    def is_list(self) -> bool:
        """Whether it is a list."""
        return isinstance(self._known(), list)

    def is_mapping(self) -> bool:
        """Whether it is a mapping."""
        return isinstance(self._known(), dict)

    def is_text(self) -> bool:
        """Whether it is a text."""
        return isinstance(self._known(), str)

    def number(self, default: int) -> int:
        """A whole number, which arrives as a float."""
        value = self._known()
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value):
            raise self._malformed("a whole number")
        return int(value)

    def real(self) -> float:
        """A number of any kind."""
        value = self._known()
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self._malformed("a number")
        return value

    def quantity(self) -> int | str | None:
        """A whole number or a text such as "25%": Kubernetes' IntOrString."""
        value = self._known()
        return value if value is None or isinstance(value, str) else self.number(0)

    def flag(self) -> bool:
        """A boolean; false where it is absent."""
        return self._known() is True

    def _mapping(self) -> Mapping[str, object]:
        value = self._known()
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise self._malformed("a mapping")
        return cast("dict[str, object]", value)

    def _known(self) -> object:
        if isinstance(self._value, _Unknown):
            raise NotKnown(self._resource, self._path)
        return self._value

    def _malformed(self, wanted: str) -> Malformed:
        return Malformed(f"{self._path} of {self._resource} is {type(self._value).__name__}, not {wanted}")


class Texts(Mapping[str, str]):
    """A mapping of texts, such as labels, with known keys. Reading an unknown value raises NotKnown."""

    __slots__ = ("_path", "_resource", "_values")

    def __init__(self, values: Mapping[str, Any], resource: str, path: str) -> None:
        self._values = values
        self._resource = resource
        self._path = path

    def __getitem__(self, key: str) -> str:
        value = self._values[key]
        if value.__class__ is str:
            return value
        return Properties(value, self._resource, f"{self._path}.{key}").text()

    def __contains__(self, key: object) -> bool:
        return key in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)
