"""Topologies that are not regular files, never end, or reach out of the project."""

from __future__ import annotations

import os

from tests.blueprint.stackfile.bad_inputs.case import Bad

FILE = "topology.yaml: "
ROLES = "roles: {all: [memcached]}\n"


def topology(text: str, said: str, **files: str) -> Bad:
    return Bad(text, said, "topology", {name.replace("_", "."): content for name, content in files.items()})


def pattern(text: str, said: str) -> Bad:
    """Returns a bad input: a topology with this key under `nodes`, and the message about the key."""
    quoted = text.replace("'", "''")
    return topology(
        f"nodes: {{node1: {{roles: [all]}}, '{quoted}': {{roles: [all]}}}}\n{ROLES}", f"nodes.{text}: {said}"
    )


CHAIN = {f"f{n}.yaml": f"!include f{n + 1}.yaml\n" for n in range(20)}
DOUBLING = {f"f{n}.yaml": f"a: !include f{n + 1}.yaml\nb: !include f{n + 1}.yaml\n" for n in range(6)}
MANY = ", ".join(f"s{n}" for n in range(3_000))

CASES = {
    "a directory": Bad(os.mkdir, f"{FILE}cannot be read: it is a directory; give the path", "topology"),
    "a named pipe": Bad(os.mkfifo, f"{FILE}cannot be read: it is a named pipe", "topology"),
    "bytes": Bad(b"\xff", f"{FILE}cannot be read: it is not UTF-8 text: line 1 has the byte 0xff", "topology"),
    "an invisible letter": topology(
        "nodes: {}\n# \u202e\n", f"{FILE}line 2, column 3: U+202E RIGHT-TO-LEFT OVERRIDE is"
    ),
    "nesting": topology("a: " + "[" * 3000, f"{FILE}is not valid YAML: line 1, column 102: nests more than 100 levels"),
    "an alias of itself": topology("nodes: &n {node1: *n}\n", f"{FILE}contains itself through an alias; write it out"),
    "values beyond the limit": topology(
        "configs: [" + "a, " * 20_000 + "]\n", f"{FILE}stands for 20003 values with its aliases; write at most 10000"
    ),
    "an include of another directory": topology(
        "!include /etc/passwd\n", f"{FILE}!include /etc/passwd: leads out of the"
    ),
    "an include above": topology("!include ../../x.yaml\n", f"{FILE}!include ../../x.yaml: leads out of the project"),
    "an include by a link": Bad(
        lambda file: (file.write_text("!include x.yaml\n"), (file.parent / "x.yaml").symlink_to("/etc/passwd")),
        f"{FILE}!include x.yaml: leads out of the project; write the path of a file inside the project",
        "topology",
    ),
    "an include in a loop of links": Bad(
        lambda file: (file.write_text("!include x.yaml\n"), (file.parent / "x.yaml").symlink_to("x.yaml")),
        f"{FILE}!include x.yaml: ",
        "topology",
    ),
    "an include that waits": Bad(
        lambda file: (file.write_text("!include x.yaml\n"), os.mkfifo(file.parent / "x.yaml")),
        f"{FILE}!include x.yaml: x.yaml cannot be read: it is a named pipe; write a path relative to the file",
        "topology",
    ),
    "an include of itself": topology("!include topology.yaml\n", f"{FILE}!include topology.yaml: includes itself"),
    "an include of a secret": topology(
        "!include x.yaml\n", "x.yaml: holds a single value; write sections", x_yaml="hunter2"
    ),
    "a chain of includes": Bad(
        "!include f0.yaml\n", "f6.yaml: !include f7.yaml: is included through 8 files", "topology", CHAIN
    ),
    "includes that double": Bad(
        "!include f0.yaml\n",
        "f1.yaml: has more than 10000 values with its includes; write fewer",
        "topology",
        {**DOUBLING, "f6.yaml": "c: [" + "x, " * 200 + "]\n"},
    ),
    "a repeated repetition": pattern(
        "(a+)+$", "repeats with + a part that repeats or chooses itself; write one repetition"
    ),
    "a repeated choice": pattern("(a|a)*$", "repeats with * a part that repeats or chooses itself"),
    "a repeated option": pattern("(a?){20}a", "repeats with {20} a part that repeats or chooses itself"),
    "many repetitions": pattern("a*a*a*a*a*b", "repeats or chooses too often, and matching would take too long"),
    "many options": pattern("a?" * 30 + "b", "repeats or chooses too often"),
    "many choices": pattern("(a|a)" * 30 + "b", "repeats or chooses too often"),
    "a look ahead": pattern("(?=a)b", "uses (?, which can take exponential time; write it without look-around"),
    "a back reference": pattern("(a)\\1", "uses \\1, which can take exponential time"),
    "a bracket that stays open": pattern(
        "node[1", "is not a valid regular expression: unterminated character set at position 4"
    ),
    "a repetition of nothing": pattern("*", "is not a valid regular expression: nothing to repeat at position 0"),
    "a pattern of 600 letters": pattern("a" * 600, "has 600 characters, more than 500"),
    "octal replicas": topology(
        f"nodes: {{node1: {{roles: [all]}}}}\n{ROLES}replicas: {{memcached: 01}}\n",
        "replicas.memcached: 01 is read as the number 1; write 1, or put it in quotes",
    ),
    "replicas of text": topology(
        f"nodes: {{node1: {{roles: [all]}}}}\n{ROLES}replicas: {{memcached: three}}\n",
        "replicas.memcached: is 'three'; write a whole number of 1 or more",
    ),
    "thousands of unknown services": Bad(
        f"nodes: {{node1: {{roles: [all]}}}}\nroles: {{all: [{MANY}]}}\n",
        "roles.all: s0 has no definition",
        "topology",
        {},
        500,
    ),
}
