"""Opens the page of an instance's console in Chromium and saves a picture of it: `console_page.py PICTURE`.

Reads the page's address, which contains a token, from standard input. Ends with exit code 0 when the guest's screen
shows something, and with NO_BROWSER if this host has no Chromium.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[3]))

from playwright.sync_api import sync_playwright

from toolchain import browser

NO_BROWSER = 3
LIMIT = 120_000
"""Milliseconds until the guest's screen must show something."""
_SHOWS = """() => {
  const canvas = document.querySelector('canvas');
  if (!canvas || !canvas.width || !canvas.height) return false;
  const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
  let lit = 0;
  for (let at = 0; at < pixels.length; at += 4) {
    if (pixels[at] + pixels[at + 1] + pixels[at + 2] > 60) lit += 1;
  }
  return lit > 200;
}"""
"""Whether more than a cursor of the guest's screen is lit."""


def main() -> int:
    """Saves the picture; returns the exit code."""
    program = browser.find()
    if program is None:
        return NO_BROWSER
    address = sys.stdin.readline().strip()
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = chromium.new_page(ignore_https_errors=True, viewport={"width": 1100, "height": 700})
        try:
            page.goto(address, timeout=LIMIT)
            page.wait_for_function(_SHOWS, timeout=LIMIT)
        finally:
            page.screenshot(path=sys.argv[1])
            chromium.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
