"""The attacks, by the name that each is known by."""

from tests.attacks.attack import Attack
from tests.attacks.cases import clouds, commands, evasions, operators, placement, quorums

ALL = (*clouds.CASES, *commands.CASES, *evasions.CASES, *operators.CASES, *placement.CASES, *quorums.CASES)
BY_NAME: dict[str, Attack] = {}
for _each in ALL:
    assert _each.name not in BY_NAME, _each.name
    BY_NAME[_each.name] = _each
