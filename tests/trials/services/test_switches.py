"""Real guests talk through Open vSwitch with the rendered containers of a compute."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from console.progress import Reporter
from tests.trials.services.judge import judge
from toolchain import debian_root
from trials.guest import guest_image
from trials.services import switches
from trials.services.containers import TriedContainer


def test_guests_talk_through_open_vswitch(switch_root: Path, containers: Mapping[str, TriedContainer]) -> None:
    image = guest_image.made_from(debian_root.ensure(Reporter(), guest_image.ROOT))
    judge(switches.prove(switch_root, containers, image))
