"""A directory of data for a member."""

from __future__ import annotations

from pathlib import Path

import pytest

from openstack.scripts.galera import data as stored


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(stored, "DIRECTORY", tmp_path)
    return tmp_path
