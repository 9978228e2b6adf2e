"""The rules read the reference architectures as the blueprint's models do."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from blueprint.architecture.loader import FOLDER, NAMES, ArchitectureError, load_architecture
from policy.facts import architecture
from policy.facts.architecture import RequiredRow


def test_the_same_files_are_built_in() -> None:
    assert architecture.FOLDER == FOLDER
    assert {path.stem for path in FOLDER.glob("*.yaml") if architecture.is_built_in(path.stem)} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_every_field_has_the_value_of_the_model(name: str) -> None:
    model, read = load_architecture(name), architecture.built_in(name)
    assert all(isinstance(each, RequiredRow) for each in read.rows)
    for ours, theirs in ((read, model), (read.light, model.light), *zip(read.rows, model.rows, strict=True)):
        for field in fields(ours):
            value = getattr(ours, field.name)
            if field.name not in ("light", "rows", "sources"):
                assert value == getattr(theirs, field.name), field.name
    assert [row.service for row in read.owners] == [row.service for row in model.owners]
    assert [row.sources for row in read.rows] == [tuple(map(str, row.sources)) for row in model.rows]
    guests = zip(read.rows, model.rows, strict=True)
    for ours, theirs in guests:
        assert [row.admits_guest(ours) for row in read.rows] == [row.admits_guest(theirs) for row in model.rows]


def test_a_users_own_file_is_checked_first(tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    text = (FOLDER / "100.yaml").read_text(encoding="utf-8")
    own.write_text(text, encoding="utf-8")
    assert architecture.own(own) == architecture.built_in("100")
    own.write_text(text.replace("shareable: true", "shareable: perhaps", 1), encoding="utf-8")
    with pytest.raises(ArchitectureError, match="shareable"):
        architecture.own(own)
