"""Quotes text from outside (stack files, branch names, resources, programs) for Markdown and for a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

COMMENT = 65_000
"""Maximum length of a text for a GitHub comment, whose limit is 65,536 characters."""

LONGEST = 400
"""Maximum length of one quoted text in Markdown, such as the reason of a waiver."""

# HTML entities escape the characters, because they work in Markdown and, unlike backslashes, between HTML tags.
_MARKUP = str.maketrans({sign: f"&#{ord(sign)};" for sign in "`[]|\\*"} | {"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_BREAK = "&#8203;"  # a zero-width space, inserted so that GitHub does not turn the text into a link or a mention
_LINKED = re.compile(
    r"(?P<mention>@)(?=[A-Za-z0-9])(?!sha256:)|(?P<issue>#)(?=\d)|(?P<address>:)(?=//)|(?P<site>\bwww)(?=\.)"
)


def printable(text: str, kept: str = "\n\t") -> str:
    """Replaces control and invisible characters in a text, except those in `kept`, by escapes such as `\\x1b`."""
    return "".join(
        sign if sign.isprintable() or sign in kept else sign.encode("unicode_escape").decode() for sign in text
    )


def single_line(text: str, longest: int) -> str:
    """Returns text as one line for a terminal, cut at `longest` characters, with line ends as escapes."""
    return printable(text if len(text) <= longest else f"{text[: longest - 3]}…", kept="")


def first_of(names: Sequence[str], most: int) -> str:
    """Joins the first `most` names, and counts the others: "a, b, c and 97 more"."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def as_lines(texts: Iterable[str]) -> str:
    """Returns texts as the lines of a list below a message."""
    return "".join(f"\n  - {each}" for each in texts)


def in_markdown(text: str, longest: int = LONGEST) -> str:
    """Returns text as one line of Markdown without markup, links and mentions, cut at `longest` characters."""
    line = printable(" ".join(text.split()))
    cut = len(line) - longest
    line = line if cut <= 0 else f"{line[:longest]}… ({cut} more characters)"
    quoted = line.translate(_MARKUP)
    # The entities of the previous step contain "#" after "&", which must stay unchanged.
    return re.sub(r"&#\d+;|" + _LINKED.pattern, lambda found: found[0] + (_BREAK if found.lastgroup else ""), quoted)


def code(text: str) -> str:
    """Returns a name as a Markdown code span."""
    return f"`{printable(' '.join(text.split()))[:LONGEST].replace('`', chr(39))}`"


def fenced(text: str, longest: int) -> str:
    """Returns text as a Markdown code block that backticks in the text cannot end, cut at `longest` characters."""
    lines = printable(text)
    cut = len(lines) - longest
    lines = lines if cut <= 0 else f"{lines[:longest]}\n… ({cut} more characters)"
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall(r"`+", lines)), 3)
    return f"{fence}text\n{lines}\n{fence}"


def bounded(text: str, longest: int, rest: str) -> str:
    """Cuts a text to at most `longest` characters, at the end of a line, and adds a note.

    `rest`: a sentence for the note that names the place of the whole text, such as "findings.json has all of it."
    """
    if len(text) <= longest:
        return text
    note = f"\n\nCut here: only {longest:,} of {len(text):,} characters fit. {rest}\n"
    return text[: longest - len(note)].rpartition("\n")[0] + note
