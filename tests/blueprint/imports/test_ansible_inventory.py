"""Inventories of Ansible, in both forms: what is read, and what is refused with its line or key."""

from __future__ import annotations

from pathlib import Path

import pytest

from blueprint.imports.ansible_ini import read_ini
from blueprint.imports.ansible_inventory import AnsibleInventory, expand_hosts
from blueprint.imports.ansible_yaml import read_yaml
from blueprint.problems import InvalidStackError

FILE = Path("inventory")

INI = """
# a comment
; another
lone ansible_host=10.0.0.9   # a comment after a host

[control]   # a comment after a section
control[01:03]   ansible_user=kolla
[control:vars]
role = 'the control plane' # no comment
[compute]
rack[a:b]-node[1:5:2] ansible_host="10.0.0.1" x='a b'
far.example.org:2222
[all:children]
control
compute   # a comment
[control]
extra
"""

YAML = """
all:
  hosts: {lone: {ansible_host: 10.0.0.9}}
  children:
    control:
      hosts: {"control[01:03]": {ansible_user: kolla}, extra: }
      vars: {role: the control plane}
    compute: {hosts: {far.example.org: {ansible_port: 2222}}}
"""


def ini(text: str) -> AnsibleInventory:
    inventory = read_ini(FILE, text)
    inventory.finish(str(FILE))
    return inventory


def yaml(text: str) -> AnsibleInventory:
    inventory = read_yaml(FILE, text)
    inventory.finish(str(FILE))
    return inventory


def said(inventory: AnsibleInventory) -> list[str]:
    return [str(problem) for problem in inventory.problems]


def test_an_ini_inventory() -> None:
    inventory = ini(INI)
    assert not inventory.problems
    assert inventory.members("control") == ["control01", "control02", "control03", "extra"]
    assert inventory.members("compute") == [
        *(f"rack{rack}-node{number}" for rack in "ab" for number in (1, 3, 5)),
        "far.example.org",
    ]
    assert inventory.variables["control02"] == {"ansible_user": "kolla"}
    assert inventory.variables["racka-node5"] == {"ansible_host": "10.0.0.1", "x": "a b"}
    assert inventory.variables["far.example.org"] == {"ansible_port": "2222"}
    assert inventory.variables["lone"] == {"ansible_host": "10.0.0.9"}
    assert inventory.groups["control"].variables == {"role": "'the control plane' # no comment"}
    assert len(inventory.members("all")) == 12


def test_a_yaml_inventory() -> None:
    inventory = yaml(YAML)
    assert not inventory.problems
    assert inventory.members("control") == ["control01", "control02", "control03", "extra"]
    assert inventory.variables["control02"] == {"ansible_user": "kolla"}
    assert inventory.variables["far.example.org"] == {"ansible_port": 2222}
    assert inventory.groups["control"].variables == {"role": "the control plane"}
    assert inventory.members("all") == ["lone", "control01", "control02", "control03", "extra", "far.example.org"]


@pytest.mark.parametrize(
    ("pattern", "hosts"),
    [
        ("node", ["node"]),
        ("node[9:11]", ["node9", "node10", "node11"]),
        ("node[09:11]x", ["node09x", "node10x", "node11x"]),
        ("n[0:4:2]", ["n0", "n2", "n4"]),
        ("[a:c]", ["a", "b", "c"]),
        ("r[1:2]n[1:2]", ["r1n1", "r1n2", "r2n1", "r2n2"]),
    ],
)
def test_a_range_of_hosts(pattern: str, hosts: list[str]) -> None:
    assert expand_hosts(pattern) == hosts


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("node[1-3]", "write for example node[01:03]"),
        ("node[1:3", "write for example node[01:03]"),
        ("node]", "write for example node[01:03]"),
        ("node[3:1]", "runs backwards"),
        ("node[a:Z]", "runs backwards"),
        ("node[a:3]", "differ in form"),
        ("node[01:100]", "differ in form"),
        ("node[1:999999999]", "more than 10000 hosts"),
        ("a[1:999]b[1:999]", "more than 10000 hosts"),
    ],
)
def test_an_invalid_range(pattern: str, words: str) -> None:
    with pytest.raises(ValueError, match=words.replace("[", r"\[").replace("]", r"\]")):
        expand_hosts(pattern)


def test_every_invalid_line_is_reported_with_its_number() -> None:
    inventory = ini("[a:childs]\nx\n[b]\nnode[3:1]\nnode1 secret word\nnode2 'x\n[b:vars]\nword\n[c:children]\nd e\n")
    assert said(inventory) == [
        "inventory line 1: 'childs' is not a kind of a section; write [a], [a:children] or [a:vars]",
        "inventory line 4: the range in 'node[3:1]' runs backwards; write the smaller end first",
        "inventory line 5: has a word that is not a variable after the host; write name=value, with blanks in quotes",
        "inventory line 5: has a word that is not a variable after the host; write name=value, with blanks in quotes",
        "inventory line 6: has a quotation mark without its partner; write both or none",
        "inventory line 8: is not a variable of the group; write name=value",
        "inventory line 10: 'd e' is not a name of a group; write one name on a line",
    ]


def test_every_invalid_key_is_reported() -> None:
    inventory = yaml("all: {host: {}, hosts: [a], children: {b: c}, vars: 1}\nc: {hosts: {n: 1}}\n")
    assert said(inventory) == [
        "inventory all.host: is not a key of a group; write one of hosts, children, vars, and groups under children",
        "inventory all.hosts: is a list; write a mapping, each name followed by a colon",
        "inventory all.children.b: is 'c'; write a mapping, each name followed by a colon",
        "inventory all.vars: is 1; write a mapping, each name followed by a colon",
        "inventory c.hosts.n: is 1; write a mapping, each name followed by a colon",
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: 1\na: 2\n", "line 2: the key 'a' is there twice; keep one"),
        ("- a\n", "is a list; write a mapping"),
        ("", "is nothing; write a mapping"),
        ("a: [\n", "is not valid YAML"),
        ("a: !vault x\n", "is not valid YAML: line 1"),
        ("a: &a {b: *a}\n", "an alias contains itself"),
        ("---\na: 1\n---\nb: 1\n", "several documents"),
    ],
)
def test_no_inventory_at_all(text: str, words: str) -> None:
    with pytest.raises(InvalidStackError) as caught:
        yaml(text)
    assert words in str(caught.value)


def test_groups_in_a_circle_and_groups_that_are_nowhere() -> None:
    inventory = ini("[a:children]\nb\n[b:children]\na\nc\n")
    assert said(inventory) == [
        "inventory line 2: 'b' is in 'a' and contains it; remove one from the other",
        "inventory line 4: 'a' is in 'b' and contains it; remove one from the other",
        "inventory line 5: the group 'c' is nowhere in the file; write it, or remove it from 'b'",
    ]
    assert inventory.members("a") == []


def test_a_later_value_of_a_variable_replaces_an_earlier_one() -> None:
    inventory = ini("[a]\nnode1 ip=1 x=1\n[b]\nnode1 ip=2 x=1\n")
    assert inventory.variables["node1"] == {"ip": "2", "x": "1"}
    assert inventory.repeated == {"node1.ip": "inventory line 4"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("".join(f"[g{number}]\n" for number in range(501)), "more than 500 groups"),
        (
            "".join(f"[g{n}:children]\n" + "".join(f"g{m}\n" for m in range(100)) for n in range(101)),
            "groups in groups",
        ),
        ("".join(f"[g{number}]\nnode[1:9999]\n" for number in range(21)), "line 42: has more than 200000 hosts"),
        ("[a]\nnode[1:9999]\n[a:vars]\n" + "".join(f"v{number}=1\n" for number in range(21)), "209979 variables"),
    ],
    ids=["groups", "children", "hosts", "variables"],
)
def test_what_is_too_much(text: str, words: str) -> None:
    (problem,) = said(ini(text))
    assert words in problem
