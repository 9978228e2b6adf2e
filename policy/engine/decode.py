"""Decodes resources that Pulumi sends to the policy pack, with UNKNOWN for values that are not known yet.

Resources come from Pulumi's gRPC messages (analyzer.py, fast), or from proxies of the policy SDK (in tests, and if the
SDK runs a policy without analyzer.py).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from pulumi import Asset
from pulumi_policy import proxy

from policy.properties import SEALED_UNKNOWN, UNKNOWN, Sealed
from policy.resource import Resource

if TYPE_CHECKING:
    from google.protobuf.struct_pb2 import Struct, Value
    from pulumi_policy import PolicyResource

UNKNOWN_MARKS = frozenset(value for name, value in vars(proxy).items() if name.startswith("UNKNOWN_"))
_SIGNATURE = "4dabf18193072939515e22adb298388d"
"""Key under which Pulumi's wire format marks secrets and assets."""
_SECRET = "1b47061264138c4ac30d75fd1eb44270"  # noqa: S105 - the mark of one


def from_message(  # noqa: PLR0913 - as Resource has them
    type_: str,
    urn: str,
    name: str,
    properties: Struct,
    *,
    protected: bool = False,
    after: Collection[str] = (),
    parent: str = "",
    provider: str = "",
) -> Resource:
    """Decodes a resource from a gRPC message of Pulumi. The arguments are those of `Resource`."""
    return Resource(
        type_,
        urn,
        name,
        lambda: {key: _value(value) for key, value in properties.fields.items()},
        protected=protected,
        after=after,
        parent=parent,
        provider=provider,
    )


def from_sdk(resource: PolicyResource) -> Resource:
    """Decodes a resource from a proxy of the policy SDK, which raises an error when an unknown value is read.

    The SDK unwraps secrets, so that this function cannot distinguish them from clear text.
    """
    props = resource.props
    return Resource(
        resource.resource_type,
        resource.urn,
        resource.name,
        lambda: _unwrap_mapping(props),
        protected=resource.opts.protect,
        after=tuple(each.urn for each in resource.dependencies),
        parent=resource.parent.urn if resource.parent else "",
        provider=_provider_from_sdk(resource),
    )


def provider_from_message(urn: str, properties: Struct) -> str:
    """Returns the connection of a Pulumi provider (its property `uri`), or its URN if it has no known `uri`."""
    uri = _value(properties.fields["uri"]) if "uri" in properties.fields else None
    return uri if isinstance(uri, str) and uri else urn


def _provider_from_sdk(resource: PolicyResource) -> str:
    if resource.provider is None:
        return ""
    props = resource.provider.props
    uri = _unwrap(lambda: props["uri"]) if "uri" in props else None
    return uri if isinstance(uri, str) and uri else resource.provider.urn


def _value(value: Value) -> object:
    kind = value.WhichOneof("kind")
    if kind == "struct_value":
        return _struct(value.struct_value)
    if kind == "list_value":
        return [_value(item) for item in value.list_value.values]
    if kind == "string_value":
        return UNKNOWN if value.string_value in UNKNOWN_MARKS else value.string_value
    return None if kind in (None, "null_value") else getattr(value, kind)


def _struct(struct: Struct) -> object:
    fields = struct.fields
    if _SIGNATURE in fields:
        value = _value(fields["value"]) if "value" in fields else None
        if fields[_SIGNATURE].string_value == _SECRET:
            return _sealed(value)
        if "value" in fields:
            return value
    # An asset has `text`, `path` or `uri`, and `hash`.
    return {key: _value(item) for key, item in fields.items() if key != _SIGNATURE}


def _sealed(value: object) -> object:
    """Returns the value of a secret with each text in it marked as secret (Sealed)."""
    if value is UNKNOWN:
        return SEALED_UNKNOWN
    if isinstance(value, str):
        return Sealed(value)
    if isinstance(value, dict):
        return {key: _sealed(item) for key, item in cast("dict[str, object]", value).items()}
    if isinstance(value, list):
        return [_sealed(item) for item in cast("list[object]", value)]
    return value


def _unwrap_mapping(proxy: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _unwrap(lambda key=key: proxy[key]) for key in proxy}


def _unwrap(touch: Callable[[], object]) -> object:
    try:
        value = touch()
    except proxy.UnknownValueError:
        return UNKNOWN
    if isinstance(value, Asset):
        return {key: item for key in ("text", "path", "uri") if (item := getattr(value, key, None)) is not None}
    if isinstance(value, Mapping):
        return _unwrap_mapping(cast("Mapping[str, Any]", value))
    if isinstance(value, Sequence) and not isinstance(value, str):
        several = cast("Sequence[Any]", value)
        return [_unwrap(lambda index=index: several[index]) for index in range(len(several))]
    return value
