"""Bad inputs: files that are not YAML or not a stack file, and text that YAML reads otherwise than a person."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from tests.blueprint.stackfile.bad_inputs.case import Bad, stack

FILE = "Pulumi.test.yaml: "
INVALID = f"{FILE}is not valid YAML: "
HEAD = "config:\n  quorate:profile: lab\n"


def value(text: str, said: str) -> Bad:
    """Returns a stack file with this value in line 3, column 20; `said` is the rest of the message."""
    return Bad(f"{HEAD}  quorate:release: {text}\n", f"{FILE}line 3, column 20: {said}")


def key(text: str, said: str, column: int = 20) -> Bad:
    return Bad(f"{HEAD}  quorate:images: {{{text}: x}}\n", f"{FILE}line 3, column {column}: {said}")


def make_socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # a socket's path may have 107 characters
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path.name)
    os.chdir(here)


ALIASES = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12))

CASES = {
    "a directory": Bad(Path.mkdir, f"{FILE}cannot be read: it is a directory; write a stack file"),
    "a named pipe": Bad(os.mkfifo, f"{FILE}cannot be read: it is a named pipe"),
    "a socket": Bad(make_socket, f"{FILE}cannot be read: it is a socket"),
    "an endless device": Bad(lambda path: path.symlink_to("/dev/zero"), f"{FILE}cannot be read: it is a device"),
    "a loop of links": Bad(lambda path: path.symlink_to(path.name), f"{FILE}cannot be read: its symbolic links form"),
    "a link to nothing": Bad(lambda path: path.symlink_to("no"), f"{FILE}cannot be read: no such file or directory"),
    "a file beyond the limit": Bad(
        "#" * (4 * 1024 * 1024 + 1), f"{FILE}cannot be read: it has more than 4194304 bytes"
    ),
    "Latin-1": Bad("config: {a: caf\xe9}".encode("latin-1"), f"{FILE}cannot be read: it is not UTF-8 text: line 1"),
    "UTF-16": Bad(
        "config: {}".encode("utf-16"), f"{FILE}cannot be read: it is not UTF-8 text: line 1 has the byte 0xff"
    ),
    "half a letter": Bad(HEAD.encode() + b"  a: \xc3", f"{FILE}cannot be read: it is not UTF-8 text: line 3"),
    "a null character": Bad(f"{HEAD}  a: \0\n", f"{FILE}is not valid YAML: "),
    "an escape sequence": Bad(f"{HEAD}  a: \x1b[31m\n", f"{FILE}is not valid YAML: "),
    "nothing": Bad("", f"{FILE}is not a mapping; write a stack file such as Pulumi.dev.yaml"),
    "comments": Bad("# config:\n", f"{FILE}is not a mapping"),
    "a list": Bad("- config\n", f"{FILE}is not a mapping"),
    "one word": Bad("config\n", f"{FILE}is not a mapping"),
    "no config": Bad(
        "runtime: python\n", f"{FILE}has no 'config:' mapping; write it with keys such as quorate:profile"
    ),
    "an empty config": Bad("config:\n", f"{FILE}has no 'config:' mapping"),
    "a config of a list": Bad("config: [a]\n", f"{FILE}has no 'config:' mapping"),
    "two documents": Bad(f"{HEAD}---\n{HEAD}", f"{INVALID}holds several documents; write one, without a line of ---"),
    "a tab": Bad("config:\n\tquorate:profile: lab\n", f"{INVALID}line 2, column 1: found character that cannot start"),
    "a bracket that stays open": Bad(
        f"{HEAD}  a: [1\n", f"{INVALID}line 4, column 1: did not find expected ',' or ']'"
    ),
    "two colons": Bad(f"{HEAD}  a: b: c\n", f"{INVALID}line 3, column 7: mapping values are not allowed"),
    "an unknown alias": Bad(f"{HEAD}  a: *b\n", f"{INVALID}line 3, column 6: found undefined alias"),
    "an alias of itself": Bad(f"{HEAD}  a: &a [*a]\n", f"{INVALID}an alias contains itself; write its content out"),
    "aliases for billions": Bad(f"a0: &a0 [x]\n{ALIASES}", f"{INVALID}stands for 234567901246 values with its aliases"),
    "a chain of aliases": Bad(
        "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 300)),
        f"{INVALID}nests 302 levels with its aliases; write at most 100",
    ),
    "nesting in brackets": Bad("[" * 100_000, f"{INVALID}line 1, column 100: nests more than 100 levels; write it"),
    "nesting in lists": Bad("- " * 100_000, f"{INVALID}line 1, column 199: nests more than 100 levels"),
    "nesting in keys": Bad("? " * 10_000, f"{INVALID}line 1, column 199: nests more than 100 levels"),
    "values beyond the limit": Bad("- [a]\n" * 60_000, f"{INVALID}line 50000, column 3: has more than 100000 values"),
    "directives": Bad("".join(f"%TAG !a{n}! x\n" for n in range(9_000)), f"{INVALID}has more than 10 lines that begin"),
    "a tag that calls code": Bad(
        f"{HEAD}  a: !!python/object/apply:os.system [exit]\n",
        f"{INVALID}line 3, column 6: has the tag !!python/object/apply:os.system; remove it",
    ),
    "a tag of a program": Bad(f"{HEAD}  a: !vault x\n", f"{INVALID}line 3, column 6: has the tag !vault; remove it"),
    "an include": Bad(f"{HEAD}  a: !include /etc/passwd\n", f"{INVALID}line 3, column 6: has the tag !include; remove"),
    "a tag of another type": Bad(f"{HEAD}  a: !!bool maybe\n", f"{INVALID}line 3, column 6: 'maybe' is not true or"),
    "a number by its tag": Bad(f"{HEAD}  a: !!int ''\n", f"{INVALID}line 3, column 6: '' is not a whole number"),
    "a date by its tag": Bad(f"{HEAD}  a: !!timestamp x\n", f"{INVALID}line 3, column 6: 'x' is not a date; write one"),
    "a merge of text": Bad(
        f"{HEAD}  <<: x\n", f"{INVALID}line 3, column 7: expected a mapping or list of mappings for"
    ),
    "a list as key": Bad(f"{HEAD}  ? [a]\n  : b\n", f"{INVALID}line 3, column 5: found unhashable key"),
    "a key twice": Bad(f"{HEAD}  quorate:profile: lab\n", f"{FILE}line 3: the key 'quorate:profile' is there twice"),
    "a key twice below": Bad(f"{HEAD}  quorate:a: {{b: 1, b: 2}}\n", f"{FILE}line 3: the key 'quorate:a.b' is there"),
    "minutes": value("1:30", "1:30 is read as the number 90; write 90, or put it in quotes"),
    "an octal number": value("0200", "0200 is read as the number 128; write 128, or put it in quotes"),
    "a hexadecimal number": value("0x1F", "0x1F is read as the number 31; write 31"),
    "a binary number": value("0b11", "0b11 is read as the number 3; write 3"),
    "a grouped number": value("1_000", "1_000 is read as the number 1000; write 1000"),
    "a sign": value("+5", "+5 is read as the number 5; write 5"),
    "a release of October": value("2026.10", "2026.10 is read as the number 2026.1; write 2026.1, or put it in quotes"),
    "minutes with a fraction": value("1:30.5", "1:30.5 is read as the number 90.5"),
    "not a number": value(".nan", ".nan is not a finite number; write a number"),
    "infinity": value("-.inf", "-.inf is not a finite number; write a number"),
    "Norway": value("no", "no is read as true or false; write true or false, or put it in quotes"),
    "a switch": value("On", "On is read as true or false"),
    "a date": value("2026-10-01", "2026-10-01 is read as a date; put it in quotes"),
    "a time": value("2026-10-01 10:00:00", "2026-10-01 10:00:00 is read as a date; put it in quotes"),
    "a day that there is not": Bad(
        f"{HEAD}  a: 2026-02-30\n", f"{INVALID}line 3, column 6: '2026-02-30' is not a date"
    ),
    "a number as key": key("1", "the key 1 is not text; put it in quotes"),
    "nothing as key": key("~", "the key ~ is not text; put it in quotes"),
    "an empty key": key("? ", "a key is empty; write text", column=22),
    "true as key": key("true", "the key true is not text; put it in quotes"),
    "a zero-width space": Bad(
        "config:\n  quorate:pro\u200bfile: lab\n",
        f"{FILE}line 2, column 14: U+200B ZERO WIDTH SPACE is invisible; remove",
    ),
    "a turn of direction": Bad(f"{HEAD}# \u202ebal\n", f"{FILE}line 3, column 3: U+202E RIGHT-TO-LEFT OVERRIDE is"),
    "a soft hyphen": Bad(
        f"{HEAD}  a: b\u00adc\n", f"{FILE}line 3, column 7: U+00AD SOFT HYPHEN is invisible; remove it"
    ),
    "a mark inside": Bad(f"{HEAD}  a: \ufeffb\n", f"{FILE}line 3, column 6: U+FEFF ZERO WIDTH NO-BREAK SPACE is"),
    "an escaped zero-width space": value('"\\u200b"', "U+200B ZERO WIDTH SPACE is invisible; remove it"),
    "an escaped bell": value('"\\a"', "U+0007 is invisible; remove it"),
    "a key in another alphabet": Bad(
        stack().replace("quorate:profile", "quorate:рrofile"),
        "quorate:рrofile: unknown key (has U+0440 CYRILLIC SMALL LETTER ER) (did you mean 'profile'?)",
    ),
}
