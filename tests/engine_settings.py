"""Environment variables of the engine in tests."""

from __future__ import annotations

from typing import Final

ENGINE_SETTINGS: Final = {
    "PULUMI_CONFIG_PASSPHRASE": "test",
    "PULUMI_DEBUG_COMMANDS": "true",
    # State is written once at the end, as `quorate` does for rendered stacks: an interrupted test leaves nothing to
    # recover. Without it, the engine makes the whole state anew at each step, also in a preview: half of its time.
    "PULUMI_EXPERIMENTAL": "true",
    "PULUMI_SKIP_CHECKPOINTS": "true",
    # The engine and its providers collect garbage less often, a twentieth of a preview. They end within seconds.
    "GOGC": "400",
}
"""Settings of each `pulumi` that a test starts by itself."""
