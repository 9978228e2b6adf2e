"""Tests of quoting: text from outside is shown in reports and on the terminal without any other effect."""

from __future__ import annotations

import pytest

from text.quoting import bounded, code, fenced, in_markdown, printable


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("plain: rack r1, 3 of 5; a_name-with.dots", "plain: rack r1, 3 of 5; a_name-with.dots"),
        ("@team approves", "@&#8203;team approves"),
        ("ask a.b@example.org", "ask a.b@&#8203;example.org"),
        ("image@sha256:abc", "image@sha256:abc"),
        ("see #12 and #!", "see #&#8203;12 and #!"),
        ("https://evil.example", "https:&#8203;//evil.example"),
        ("www.evil.example", "www&#8203;.evil.example"),
        ("[text](x)", "&#91;text&#93;(x)"),
        ("![pixel](//x/y.png)", "!&#91;pixel&#93;(//x/y.png)"),
        ("a | b", "a &#124; b"),
        ("`code` **bold** \\[", "&#96;code&#96; &#42;&#42;bold&#42;&#42; &#92;&#91;"),
        ("<img src=x> & co", "&lt;img src=x&gt; &amp; co"),
        ("two\nlines\r\n# heading", "two lines # heading"),
        ("\x1b[31mred \u202etxt", "&#92;x1b&#91;31mred &#92;u202etxt"),
        ("x" * 410, "x" * 400 + "… (10 more characters)"),
    ],
)
def test_markdown_of_a_text_from_outside(text: str, quoted: str) -> None:
    assert in_markdown(text) == quoted


def test_a_terminal_is_sent_no_control_characters() -> None:
    assert printable("a\tb\nc\x1b]0;title\x07\r\x9b2J\u2066\udc80") == (
        "a\tb\nc\\x1b]0;title\\x07\\r\\x9b2J\\u2066\\udc80"
    )


@pytest.mark.parametrize("run", [0, 1, 3, 7])
def test_no_backticks_end_a_block(run: int) -> None:
    first, *lines, last = fenced(f"before\n{'`' * run}\n@team", 100).splitlines()
    assert lines == ["before", "`" * run, "@team"]
    assert first == f"{last}text"
    assert len(last) > run
    assert set(last) == {"`"}


def test_what_is_cut_is_counted() -> None:
    assert fenced("x" * 30, 10) == "```text\nxxxxxxxxxx\n… (20 more characters)\n```"
    text = "a line\n" * 100
    cut = bounded(text, 200, "See the file.")
    assert len(cut) <= 200
    assert cut.endswith("a line\n\nCut here: only 200 of 700 characters fit. See the file.\n")
    assert bounded(text, 700, "") == text


def test_a_name_stays_a_code_span() -> None:
    assert code("a`b`\n@c") == "`a'b' @c`"
