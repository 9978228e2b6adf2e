"""The page of `quorate status`: what it says, that it escapes what programs answered, and how Chromium shows it."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, cast

import pytest
from axe_playwright_python.sync_playwright import Axe  # pyright: ignore[reportMissingTypeStubs]
from playwright.sync_api import Browser

from audit.chart import QUORUMS
from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from operations.living import status_page
from operations.living.agents import LivingAgents
from operations.living.cloud import LivingCloud
from operations.living.firing import FiringAlert, LivingAlerts
from operations.living.leaving import leaves
from operations.living.readers import READERS
from operations.under_way import UnderWay
from tests.audit.browser.conftest import chromium
from tests.operations.living.living_cloud import living
from tests.stacks import STACKS, full_size, parsed

__all__ = ["chromium"]

DEV = plan(load_file(STACKS["dev"]))
LOST = living(DEV, {"mysqld-1": "no answer within 15 s"})


def page(cloud: LivingCloud, **other: Any) -> str:
    return status_page.write("dev", cloud, leaves(cloud), **other)


def text(html: str) -> str:
    """The text of the page, without its style and elements."""
    return " ".join(re.sub(r"<style>.*?</style>|<[^>]*>", " ", html, flags=re.DOTALL).split())


def test_a_whole_cloud() -> None:
    said = text(page(living(DEV)))
    assert "✓ dev: every quorum is whole" in said
    assert "Any one server may go now." in said
    assert "stays" not in said
    assert "not counted" not in said


def test_a_lost_member_is_marked_and_who_stays_says_why() -> None:
    html = page(LOST)
    assert html.count(' broken"') == 1
    said = text(html)
    assert "! dev: every quorum has its majority, not every one is whole" in said
    assert "mysqld-1: no answer within 15 s" in said
    assert "mysqld-1: not counted" in said
    assert "2 of 3 servers may not go now." in said
    assert said.count("mysqld needs 2 of 3 members, 1 would be left; lost already: mysqld-1") == 2


def test_what_was_not_asked_is_not_whole() -> None:
    quorums = tuple(replace(each, serves=None) for each in LOST.quorums)
    said = text(page(replace(LOST, quorums=quorums, problems=("no API server answers: timed out",))))
    assert "✗ dev: a quorum has no majority, or could not be asked" in said
    assert "What could not be asked no API server answers: timed out" in said
    assert "No server may go now." in said


def test_servers_without_members_are_a_group_unless_something_is_to_be_said_of_one() -> None:
    made = plan(parsed(full_size("1000", computes=60, controllers=32)))
    busy = made.nodes[-1].name
    html = page(living(made, agents=LivingAgents(instances={busy: 14})))
    said = text(html)
    assert "62 servers without members" in said
    assert "14 instances must be moved first" in said
    assert f"<li>{busy}</li>" not in html
    assert html.count("<article") < 20


def test_alerts_have_a_section_if_the_stack_has_prometheus() -> None:
    assert "Alerts" not in text(page(living(DEV)))
    alert = FiringAlert("EtcdDiskSlow", "warning", "etcd: <b>slow</b>", datetime.now(UTC), "etcd")
    html = page(living(DEV, alerts=LivingAlerts("influxdb-grafana-0", (alert,))))
    assert "<b>slow</b>" not in html
    assert "1 alert fires, as influxdb-grafana-0 tells. warning EtcdDiskSlow for 0 min: etcd: " in text(html)


def test_what_programs_answer_is_escaped() -> None:
    html = page(living(DEV, {"mysqld-1": "<script>alert(1)</script>"}), operation=UnderWay(problem="<b>not</b> known"))
    assert "<script" not in html
    assert "<b>not" not in html
    assert "&lt;b&gt;not&lt;/b&gt; known" in html


def test_every_kind_of_quorum_has_its_letter() -> None:
    """A quorum's kind is the name of its reader's module."""
    kinds = {"etcd", *(reader.read.__module__.rpartition(".")[2] for reader in READERS.values())}
    letters = {status_page.KINDS[kind] for kind in kinds}
    assert len(letters) == len(kinds)
    assert letters <= QUORUMS.keys()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_chromium_shows_it_without_a_request_or_an_error(
    chromium: Browser,
    tmp_path: Path,
    scheme: Literal["light", "dark"],
) -> None:
    file = tmp_path / "status.html"
    file.write_text(page(LOST), encoding="utf-8")
    context = chromium.new_context(viewport={"width": 390, "height": 844}, color_scheme=scheme)
    shown = context.new_page()
    errors: list[str] = []
    shown.on("console", lambda message: errors.append(message.text))
    shown.on("request", lambda request: errors.append(request.url) if request.url != file.as_uri() else None)
    shown.goto(file.as_uri())
    assert errors == []
    assert shown.evaluate("document.documentElement.scrollWidth") <= 390
    paper = shown.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper == {"light": "rgb(255, 255, 255)", "dark": "rgb(13, 17, 23)"}[scheme]
    response = cast("dict[str, Any]", Axe().run(shown).response)  # pyright: ignore[reportUnknownMemberType]
    assert [each["id"] for each in response["violations"]] == []
    context.close()
