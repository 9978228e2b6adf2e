"""The audit's page in a real, headless Chromium. `make test` brings one (toolchain/browser.py)."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, Request, ViewportSize, sync_playwright

from audit.__main__ import main
from tests.audit.logs import Event, written
from toolchain import browser


@dataclass
class Shown:
    """A page of the audit, with console output and requests that it should not make."""

    page: Page
    errors: list[str] = field(default_factory=list[str])
    """Messages that the page wrote to the console, and errors of its script."""
    requests: list[str] = field(default_factory=list[str])
    """Addresses that the page requested, except its own."""

    def loss(self) -> str:
        """Returns the text of the panel about the loss of a server."""
        return self.page.locator("#loss").inner_text()

    def server(self, name: str) -> Locator:
        """Returns the button of a server on the placement map."""
        return self.page.locator(f'.server-name[data-server="{name}"]')


Open = Callable[..., Shown]
DESKTOP = ViewportSize(width=1440, height=1000)


@pytest.fixture(scope="module")
def chromium() -> Generator[Browser]:
    """A browser for the tests of one module: Playwright's event loop runs in this thread until it is closed, and other
    tests could not run one of their own."""
    path = browser.find()
    if path is None:
        (pytest.fail if browser.is_required() else pytest.skip)(browser.MISSING)
    # As root, Chromium refuses its sandbox; the pages are our own.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=arguments)
        yield started
        started.close()


@pytest.fixture
def show(chromium: Browser, tmp_path: Path) -> Generator[Open]:
    """Opens the audit page for an event log."""
    contexts: list[BrowserContext] = []

    def opened(
        events: Iterable[Event],
        *,
        viewport: ViewportSize = DESKTOP,
        color_scheme: Literal["light", "dark"] = "light",
    ) -> Shown:
        command = ["--events", str(written(events, tmp_path / "events.jsonl")), "--stack", "prod"]
        main([*command, "--out", str(tmp_path / "out")])
        address = (tmp_path / "out" / "audit.html").as_uri()
        contexts.append(chromium.new_context(viewport=viewport, color_scheme=color_scheme))
        shown = Shown(contexts[-1].new_page())

        def asked(request: Request) -> None:
            if request.url != address:
                shown.requests.append(request.url)

        shown.page.on("console", lambda message: shown.errors.append(message.text))
        shown.page.on("pageerror", lambda error: shown.errors.append(str(error)))
        shown.page.on("dialog", lambda dialog: shown.errors.append(dialog.message))
        shown.page.on("request", asked)
        shown.page.goto(address)
        return shown

    yield opened
    for context in contexts:
        context.close()
