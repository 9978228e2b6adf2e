"""The module unbound of Neutron's containers resolves names as the library `ovs` asks for them."""

from __future__ import annotations

from openstack.scripts import unbound


def test_a_name_has_the_systems_address() -> None:
    error, result = unbound.ub_ctx().resolve("localhost", unbound.RR_TYPE_A)
    assert (error, result.havedata, result.data.as_raw_data()[0]) == (0, True, "127.0.0.1")


def test_a_name_without_an_address_has_no_data() -> None:
    error, result = unbound.ub_ctx().resolve("no-such-name.invalid", unbound.RR_TYPE_A)
    assert (error, result.havedata, result.data.as_raw_data()) == (0, False, [])


def test_types_are_those_of_dns_and_choose_the_family() -> None:
    """RFC 1035 and RFC 3596. A program may ask by number."""
    assert (unbound.RR_TYPE_A, unbound.RR_TYPE_AAAA) == (1, 28)
    addresses = {"127.0.0.1": 1, "::1": 28}
    for address, own in addresses.items():
        for qtype in addresses.values():
            _, result = unbound.ub_ctx().resolve(address, qtype)
            assert result.data.as_raw_data() == ([address] if qtype == own else [])


def test_an_answer_is_there_at_once() -> None:
    said: list[object] = []
    context = unbound.ub_ctx()

    def answered(*words: object) -> None:
        said.extend(words)

    error, _ = context.resolve_async("localhost", "request", answered, unbound.RR_TYPE_A)
    request, failed, result = said
    assert (error, request, failed, context.process()) == (0, "request", 0, 0)
    assert isinstance(result, unbound.Resolution)
    assert result.qtype == unbound.RR_TYPE_A
