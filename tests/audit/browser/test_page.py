"""The page as a reader uses it: by mouse, keyboard or screen reader, on screen and printed."""

from __future__ import annotations

import json
from datetime import date
from typing import Any, Literal, cast

import pytest
from axe_playwright_python.sync_playwright import Axe  # pyright: ignore[reportMissingTypeStubs]

from policy.catalogue import RULES
from policy.frameworks import of_rule
from tests.audit.browser.conftest import Open, Shown
from tests.audit.logs import log_of
from tests.policy.waivers import written_waiver
from tests.policy.world import (
    SERVER,
    UNKNOWN,
    Given,
    daemons,
    etcd,
    machine,
    machine_pool,
    machines,
    masters,
    quorum,
    stack,
    whole_stack,
    workload,
)

# Two of three members of RabbitMQ on one physical server, and nothing that keeps them apart over servers.
SHARED = [
    stack(),
    machine("a", "rabbitmq", server="virt1"),
    machine("b", "rabbitmq", server="virt1"),
    machine("c", "rabbitmq", server="virt2"),
    quorum(apart=("kubernetes.io/hostname",)),
    workload("api", pools=["rabbitmq"], replicas=1),
]
WAIVER = written_waiver(
    "one-member-per-server", "rabbit*", "a third server is ordered", "Ada", date(2027, 1, 31), "Grace"
)


def sound(shown: Shown) -> None:
    assert shown.errors == []
    assert shown.requests == []


def violations(shown: Shown) -> list[str]:
    """axe-core's findings, each with the elements it is about."""
    response = cast("dict[str, Any]", Axe().run(shown.page).response)  # pyright: ignore[reportUnknownMemberType]
    found: list[dict[str, Any]] = response["violations"]
    return [f"{each['id']}: {[node['target'] for node in each['nodes']]}" for each in found]


def test_the_verdict_comes_first_and_nothing_is_fetched(show: Open) -> None:
    shown = show(log_of(whole_stack()))
    heading = shown.page.get_by_role("heading", level=1)
    assert "prod passed" in heading.inner_text()
    box = heading.bounding_box()
    assert box is not None
    assert box["y"] < 200
    assert "Every quorum keeps its majority" in shown.page.locator(".headline").inner_text()
    sound(shown)


def test_a_click_on_a_server_tells_what_would_be_lost(show: Open) -> None:
    shown = show(log_of(SHARED))
    assert "virt1, rabbitmq may keep 1 of 3 members; a majority is 2" in shown.page.locator(".bad-list").inner_text()
    shown.server("virt1").click()
    assert "If virt1 fails" in shown.loss()
    assert "Quorums that lose their majority" in shown.loss()
    assert shown.page.locator("#loss .falls").first.inner_text().split() == ["✗", "rabbitmq", "1", "of", "3", "left"]
    shown.server("virt2").click()
    assert "If virt2 fails" in shown.loss()
    assert "Quorums that keep their majority" in shown.loss()
    assert shown.server("virt1").get_attribute("aria-pressed") == "false"
    shown.server("virt2").click()
    assert "No server selected" in shown.loss()
    sound(shown)


def test_the_keyboard_does_the_same(show: Open) -> None:
    shown = show(log_of(SHARED))
    shown.server("virt1").focus()
    shown.page.keyboard.press("Enter")
    assert "If virt1 fails" in shown.loss()
    shown.page.keyboard.press("Escape")
    assert "No server selected" in shown.loss()
    shown.page.keyboard.press("Tab")
    assert shown.page.evaluate("document.activeElement.getAttribute('aria-label')").startswith("rabbitmq, member of")
    shown.page.keyboard.press("Space")
    assert shown.page.locator("#racks .fellow").count() == 3


def test_arrow_keys_walk_through_a_server(show: Open) -> None:
    shown = show(log_of([stack(), *machines("p", 1), workload("api", pools=["p"], replicas=1), daemons("web", "p")]))
    shown.server("p-1").focus()
    walked: list[str] = []
    for key in ("ArrowRight", "ArrowRight", "ArrowRight", "ArrowUp"):
        shown.page.keyboard.press(key)
        walked.append(shown.page.evaluate("document.activeElement.innerText"))
    assert walked == ["web", "api", "api", "web"]
    assert shown.page.locator("#tip strong").inner_text() == "web"
    sound(shown)


@pytest.mark.parametrize("way", ["hover", "focus"])
def test_a_member_names_the_rules_that_judged_it(show: Open, way: str) -> None:
    shown = show(log_of(SHARED))
    member = shown.page.locator("#racks .mark").first
    member.hover() if way == "hover" else member.focus()
    text = shown.page.locator("#tip").inner_text()
    assert "✗ one-member-per-server" in text
    assert "✓ rabbitmq-size" in text
    shown.page.keyboard.press("Escape")
    assert shown.page.locator("#tip").is_hidden()


def test_members_are_told_apart_without_colour(show: Open) -> None:
    """Each kind of quorum has its own letter and its own shape."""
    shown = show(log_of(whole_stack()))
    looks = """marks => marks.map(mark => {
        const style = getComputedStyle(mark.querySelector("b"));
        return [mark.innerText, style.clipPath + style.borderRadius];
    })"""
    legend = shown.page.locator(".legend .mark").evaluate_all(looks)
    assert [letter for letter, _ in legend] == ["E", "G", "R", "C", "L"]
    assert len({shape for _, shape in legend}) == 5


def test_rules_are_filtered_and_linked(show: Open) -> None:
    shown = show(log_of(SHARED))
    shown.page.get_by_role("button", name="Failed").click()
    failed = set(shown.page.locator("details.rule:visible").evaluate_all("rules => rules.map(rule => rule.id)"))
    assert "one-member-per-server" in failed
    assert "rabbitmq-size" not in failed
    shown.page.locator(".finding .rule-id", has_text="one-member-per-server").first.click()
    rule = shown.page.locator("#one-member-per-server")
    assert rule.get_attribute("open") is not None
    assert (
        "004, 5.5.9 (5) [static validation should] check that the etcd cluster satisfies its quorum"
        in rule.inner_text()
    )
    sound(shown)


def test_a_waiver_is_shown_with_who_answers_for_it(show: Open) -> None:
    shown = show(log_of(SHARED, "production", WAIVER))
    row = shown.page.locator("section", has=shown.page.locator("#waived")).locator(".finding").first.inner_text()
    for said in ("one-member-per-server", "rabbitmq", "a third server is ordered", "Ada", "2027-01-31"):
        assert said in row
    assert "waived" in shown.page.locator("#one-member-per-server summary").inner_text()


def test_what_was_not_evaluated_is_loud(show: Open) -> None:
    given = [quorum(replicas=UNKNOWN) if each.name == "rabbitmq" else each for each in whole_stack()]
    shown = show(log_of(given))
    assert "failed" in shown.page.get_by_role("heading", level=1).inner_text()
    finding = shown.page.locator(".finding", has_text="rabbitmq-size").inner_text()
    assert "not evaluated" in finding
    assert "spec.replicas of rabbitmq cannot be known" in finding
    unknown = shown.page.locator("section", has_text="Unknown in this").inner_text()
    assert "StatefulSet rabbitmq: spec.replicas" in unknown
    assert "some values are unknown" in shown.page.locator(".headline").inner_text()
    sound(shown)


def test_no_value_becomes_markup(show: Open) -> None:
    """Values of the stack become no markup, neither in the page nor in the data that its script reads."""
    bad = "</script><img src=x onerror=alert(1)><!--&\"'"
    given = [
        *SHARED,
        machine(bad, "rabbitmq", server=bad).but(labels={"quorate.io/pool": bad, SERVER: bad, "quorate.io/rack": bad}),
        Given("quorate:k8s:Etcd", bad, {"members": [{"node": bad, "server": bad, "address": bad}]}),
        quorum(bad, row=bad, pools=[bad]),
    ]
    shown = show(log_of(given, "production", written_waiver("etcd-size", "etcd*", bad, bad, date(2027, 1, 1), "Grace")))
    assert shown.page.locator("img").count() == 0
    assert shown.page.locator("body > script").count() == 2
    shown.page.locator(".server-name", has_text="onerror").first.click()
    shown.page.locator("#racks .mark").first.hover()
    assert bad in shown.page.locator("#loss h3").inner_text()
    sound(shown)


def test_a_thousand_computes_are_a_few_groups_until_one_is_opened(show: Open) -> None:
    pool = machine_pool("compute", 1000)
    nodes: list[dict[str, str]] = json.loads(pool.props["nodes"])
    racked = [{**node, "rack": f"r{number % 20:02}"} for number, node in enumerate(nodes)]
    pool.props["nodes"] = json.dumps(racked)
    given = [pool if each.name == "computes" else each for each in whole_stack("1000")]
    shown = show(log_of(given))
    elements = shown.page.evaluate("document.querySelectorAll('#racks *').length")
    assert elements < 3000
    groups = shown.page.locator(".group")
    first = groups.filter(has_text="50 servers").first
    assert groups.filter(has_text="50 servers").count() == 20
    first.locator("summary").focus()
    shown.page.keyboard.press("Enter")
    first.locator(".server-name").first.wait_for()
    assert first.locator(".server-name").count() == 50
    first.locator(".server-name").last.click()
    assert "No quorum loses a member" in shown.loss()
    sound(shown)


def test_on_paper_every_rule_is_open_and_controls_are_gone(show: Open) -> None:
    shown = show(log_of(SHARED))
    rule = shown.page.locator("#rabbitmq-size")
    shown.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    shown.page.emulate_media(media="print")
    assert rule.get_by_text("the side of a partition without a majority pauses").is_visible()
    for gone in (".filter", ".contents", ".loss", "#tip"):
        assert shown.page.locator(gone).first.is_hidden()
    assert shown.page.pdf(format="A4").startswith(b"%PDF")
    shown.page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert rule.get_attribute("open") is None


def test_a_narrow_screen_has_no_sideways_scroll(show: Open) -> None:
    shown = show(log_of(SHARED), viewport={"width": 360, "height": 740})
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= 360
    shown.server("virt1").click()
    assert shown.page.locator("#loss").is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("given", [SHARED, whole_stack()], ids=["broken", "sound"])
def test_it_is_accessible(show: Open, given: list[Given], scheme: Literal["light", "dark"]) -> None:
    shown = show(log_of(given, "production", WAIVER), color_scheme=scheme)
    assert violations(shown) == []
    shown.page.locator(".server-name").first.click()
    shown.page.locator("#racks .mark").first.hover()
    shown.page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    shown.page.locator("#racks").wait_for()
    assert violations(shown) == []


def test_nodes_that_do_not_say_their_server_leave_a_doubt(show: Open) -> None:
    bare = machine("rabbitmq-4", "rabbitmq").but(labels={"quorate.io/pool": "rabbitmq"})
    shown = show(log_of([stack(), *machines("rabbitmq"), bare, quorum()]))
    assert "some values are unknown" in shown.page.locator(".headline").inner_text()
    assert shown.page.get_by_text("No label names the server that runs rabbitmq-4.").is_visible()


def test_without_a_map_it_says_why(show: Open) -> None:
    shown = show(log_of(SHARED, with_record=False))
    assert "the policy pack's record is missing" in shown.page.locator("main").inner_text()
    sound(shown)


def test_members_of_etcd_are_on_their_machines(show: Open) -> None:
    shown = show(log_of([stack(), *masters(), *machines("rabbitmq"), etcd()]))
    labels = shown.page.locator("#racks .mark").evaluate_all("marks => marks.map(mark => mark.ariaLabel)")
    assert labels == [f"etcd, member of etcd, on master-{number}" for number in (1, 2, 3)]


def test_rules_are_filtered_by_framework(show: Open) -> None:
    page = show(log_of(whole_stack())).page
    page.select_option("#framework", "SCS-0214")
    assert page.locator("details.rule:visible").count() == sum("SCS-0214" in of_rule(rule.id) for rule in RULES)
    assert page.locator("tr[data-framework]:visible").count() == 4
    page.click('.filter button[data-filter="pass"]')
    assert page.locator("details.rule:visible:not([data-verdict=pass])").count() == 0
    page.click('tr[data-framework="SCS-0214"] a[href="#three-masters"]')
    assert page.locator("#three-masters").is_visible()
    assert page.input_value("#framework") == ""
