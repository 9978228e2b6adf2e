"""All attacks by name. Each file has the attacks on one subject."""

from tests.attacks.attack import Attack
from tests.attacks.cases import clouds, commands, evasions, operators, placement, quorums, settings, surroundings

BY_NAME: dict[str, Attack] = {}
for _subject in (clouds, commands, evasions, operators, placement, quorums, settings, surroundings):
    for _each in _subject.CASES:
        assert _each.name not in BY_NAME, _each.name
        BY_NAME[_each.name] = _each
