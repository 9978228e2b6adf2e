"""What the sources ask for, sentence by sentence: the rule that a sentence became, or why it became none.

Data, a file for each part of a seed (004-5.3.yaml, …):

    seed: "004"
    sections: ["5.3", "5.4"]      # what the file covers, with everything below; all of the seed where it is left out
    norms:
      - {section: "5.4.12", says: a short quote, rule: rabbitmq-size}
      - {section: "5.4.6", says: a short quote, rule: [instances-match-row, load-balanced-row-has-service]}
      - {section: "5.4.10", says: a short quote, why_not: a sentence that says why no rule judges it}

docs/rules-not-made.md is written from it (`python -m policy.catalogue`). Tests keep both ways closed: a norm names only
rules that there are, and a rule that cites a part is named by a norm.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from files import yaml_reader

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Norm:
    """A sentence of a source that asks for something."""

    section: str
    says: str
    rules: tuple[str, ...]
    """Ids of the rules that it became."""
    why_not: str
    """Why it became none; empty where it became one."""


@dataclass(frozen=True)
class Part:
    """A seed, or some sections of one, read to the end."""

    seed: str
    sections: tuple[str, ...]
    norms: tuple[Norm, ...]

    @property
    def title(self) -> str:
        """The seed and the sections."""
        return f"{self.seed}, {' and '.join(self.sections)}" if self.sections else self.seed

    def covers(self, seed: str, section: str) -> bool:
        """Whether a section belongs to the part."""
        if seed != self.seed:
            return False
        return not self.sections or any(section == each or section.startswith(f"{each}.") for each in self.sections)


def parts() -> Iterator[Part]:
    """Every part, by the name of its file. ValueError names the file and the norm that is not whole."""
    for path in sorted(FOLDER.glob("*.yaml")):
        document = cast("dict[str, Any]", yaml_reader.load(path.read_text(encoding="utf-8")))
        norms = tuple(_norm(path.name, each) for each in document["norms"])
        yield Part(document["seed"], tuple(document.get("sections", ())), norms)


def _norm(file: str, written: dict[str, Any]) -> Norm:
    where = f"{file}, {written.get('section')}: {written.get('says')}"
    if unknown := written.keys() - {"section", "says", "rule", "why_not"}:
        raise ValueError(f"{where}: unknown {', '.join(sorted(unknown))}; write section, says and rule or why_not")
    if not written.get("section") or not written.get("says") or ("rule" in written) == ("why_not" in written):
        raise ValueError(f"{where}: write section, says and one of rule and why_not")
    rule: str | list[str] = written.get("rule", [])
    return Norm(
        section=str(written["section"]),
        says=written["says"],
        rules=(rule,) if isinstance(rule, str) else tuple(rule),
        why_not=written.get("why_not", ""),
    )
