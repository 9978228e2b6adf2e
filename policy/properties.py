"""Reads a resource's properties and distinguishes unknown values from absent ones.

In a preview, a value that depends on a resource that does not exist yet is unknown. If a policy rule reads such a
value, `Properties` raises `NotKnown` with the resource and the property, and the rule is reported as "not evaluated".
Unknown values that no rule reads have no effect.
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
"""Stands for a property's value that Pulumi does not know yet in a preview."""
SEALED_UNKNOWN: Final = _Unknown(sealed=True)
"""Stands for a secret property's value that Pulumi does not know yet in a preview."""


class Sealed(str):
    """A text that Pulumi handles as a secret: encrypted in the state and masked in output."""

    __slots__ = ()


class NotKnown(Exception):
    """A policy rule needs a property's value that this preview cannot know."""

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
        """Returns the value at a path of keys below this value. An absent value is returned as empty Properties.

        Raises NotKnown or Malformed if a value on the way is unknown or no mapping.
        """
        value: Any = self._value  # not cast(): it is a call, and rules ask tens of thousands of times
        path = self._path
        for key in keys:
            if value.__class__ is not dict:  # a plain mapping needs no new object
                value = Properties(value, self._resource, path)._mapping()
            value = value.get(key)
            path = f"{path}.{key}" if path else key
        return Properties(value, self._resource, path)

    def items(self) -> Iterator[Properties]:
        """Yields the items of a list; nothing if the list is absent. Malformed if the value is not a list."""
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
        """Returns the keys of a mapping, [] if the mapping is absent. The values of the keys may be unknown."""
        return list(self._mapping())

    def texts(self) -> Mapping[str, str]:
        """Returns a mapping of texts, such as labels, {} if absent. An unknown text raises NotKnown when it is read."""
        return Texts(self._mapping(), self._resource, self._path)

    def words(self) -> tuple[str, ...]:
        """Returns a list of texts, () if the list is absent. Malformed if the value is anything else."""
        return tuple(item.text() for item in self.items())

    def text(self, default: str = "") -> str:
        """Returns a text, `default` if the value is absent. Malformed if the value is not a text."""
        if self._value.__class__ is str:
            return cast("str", self._value)
        value = self._known()
        if value is None:
            return default
        if not isinstance(value, str):
            raise self._malformed("a text")
        return value

    def parsed(self) -> Properties:
        """Parses a text value as JSON and returns the result. If there is no text, the result is an absent value."""
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
        """Whether the value is a list. Raises NotKnown if it is unknown."""
        return isinstance(self._known(), list)

    def is_mapping(self) -> bool:
        """Whether the value is a mapping. Raises NotKnown if it is unknown."""
        return isinstance(self._known(), dict)

    def is_number(self) -> bool:
        """Whether the value is a number. Raises NotKnown if it is unknown."""
        value = self._known()
        return isinstance(value, int | float) and not isinstance(value, bool)

    def is_text(self) -> bool:
        """Whether the value is a text. Raises NotKnown if it is unknown."""
        return isinstance(self._known(), str)

    def number(self, default: int) -> int:
        """Returns a whole number, `default` if the value is absent. Pulumi gives numbers as floats.

        Malformed if the value is not a whole number.
        """
        value = self._known()
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value):
            raise self._malformed("a whole number")
        return int(value)

    def real(self) -> float:
        """Returns a number, whole or with a fraction. Malformed if the value is absent or not a number."""
        value = self._known()
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self._malformed("a number")
        return value

    def quantity(self) -> int | str | None:
        """Returns a whole number or a text such as "25%" (Kubernetes' IntOrString); None if the value is absent."""
        value = self._known()
        return value if value is None or isinstance(value, str) else self.number(0)

    def flag(self) -> bool:
        """Returns whether the value is the boolean true; False if the value is absent or anything else."""
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
