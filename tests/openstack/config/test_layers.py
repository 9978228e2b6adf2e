"""Tests of configuration in layers: the value that counts, its source, and the text of the file."""

from __future__ import annotations

import configparser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openstack.config.formats import public_text
from openstack.config.layers import ConfigFile, Layer, Origin, Repeated, Setting, merge

RELEASE = Layer(
    Origin.RELEASE, "oslo.config", {"DEFAULT": {"debug": False, "workers": 1}, "api": {"hosts": ("a", "b")}}
)
SIZE = Layer(Origin.ARCHITECTURE, "004, 5.3.7", {"DEFAULT": {"workers": 3}})
STACK = Layer(Origin.STACK, "quorate:services.nova-api", {"api": {"hosts": ("c",)}})
NODE = Layer(Origin.NODE, "quorate:nodes.cmp1", {"DEFAULT": {"debug": True}})


def test_each_value_has_its_layer_and_its_source() -> None:
    assert merge([RELEASE, SIZE, STACK, NODE]) == {
        "DEFAULT": {
            "debug": Setting(True, Origin.NODE, "quorate:nodes.cmp1"),
            "workers": Setting(3, Origin.ARCHITECTURE, "004, 5.3.7"),
        },
        "api": {"hosts": Setting(("c",), Origin.STACK, "quorate:services.nova-api")},
    }


def test_the_levels_decide_and_not_the_order_of_the_layers() -> None:
    assert merge([NODE, STACK, RELEASE, SIZE]) == merge([RELEASE, SIZE, STACK, NODE])


def test_of_one_level_the_later_layer_overrides() -> None:
    """A process's options after its project's, a later matching node key after an earlier one."""
    process = Layer(Origin.STACK, "process", {"api": {"hosts": ("d",)}})
    assert merge([STACK, process])["api"]["hosts"].source == "process"
    assert merge([process, STACK])["api"]["hosts"].source == "quorate:services.nova-api"


def test_an_ini_file() -> None:
    layer = Layer(Origin.PROJECT, "-", {"pci": {"alias": Repeated(("x", "y"))}, "b": {"empty": ""}})
    assert public_text(ConfigFile("nova.conf", "ini", (RELEASE, SIZE, NODE, layer))) == (
        "[DEFAULT]\ndebug = true\nworkers = 3\n\n[api]\nhosts = a,b\n\n[b]\nempty =\n\n[pci]\nalias = x\nalias = y\n"
    )


def test_a_file_without_sections() -> None:
    layer = Layer(Origin.PROJECT, "-", {"": {"vm_memory_high_watermark.relative": 0.6, "a": "b"}})
    assert (
        public_text(ConfigFile("rabbitmq.conf", "flat", (layer,))) == "a = b\nvm_memory_high_watermark.relative = 0.6\n"
    )
    with pytest.raises(ValueError, match="section DEFAULT: this format has no sections"):
        public_text(ConfigFile("rabbitmq.conf", "flat", (RELEASE,)))


def test_a_value_of_two_lines_is_rejected() -> None:
    """A value with two lines is rejected, because its second line would be read as another option."""
    layer = Layer(Origin.STACK, "-", {"DEFAULT": {"a": "b\nc = d"}})
    with pytest.raises(ValueError, match="a: a value has one line, not 2"):
        public_text(ConfigFile("x.conf", "ini", (layer,)))


def test_further_layers_leave_the_file_as_it_was() -> None:
    file = ConfigFile("nova.conf", "ini", (RELEASE,))
    assert file.with_layers(SIZE).document()["DEFAULT"]["workers"].value == 3
    assert file.document()["DEFAULT"]["workers"].value == 1


NAMES = st.text("abcdefghij_", min_size=1, max_size=6)
VALUES = st.one_of(st.integers(), st.text("abc /:$", max_size=8).map(str.strip))
SECTIONS = st.dictionaries(NAMES, st.dictionaries(NAMES, VALUES, min_size=1, max_size=4), max_size=4)
LAYERS = st.lists(st.builds(Layer, st.sampled_from(Origin), st.just("-"), SECTIONS), max_size=5)


@given(LAYERS)
def test_a_reader_of_the_text_finds_the_merged_values(layers: list[Layer]) -> None:
    parser = configparser.RawConfigParser(delimiters=("=",), default_section="")
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # pyright: ignore[reportAttributeAccessIssue]
    parser.read_string(public_text(ConfigFile("x.conf", "ini", tuple(layers))) or "")
    wanted = {
        section: {option: str(setting.value) for option, setting in options.items()}
        for section, options in merge(layers).items()
    }
    assert {section: dict(parser[section]) for section in parser.sections()} == wanted


def test_a_node_adds_to_a_repeated_option_as_oslo_config_does_with_a_second_file() -> None:
    """Seen with oslo.config: [pci] device_spec of two files, a and b in the first, c in the second, is [a, b, c]."""

    def layer(level: Origin, *values: str) -> Layer:
        return Layer(level, "here", {"pci": {"device_spec": Repeated(values)}})

    stack = (layer(Origin.PROJECT, "x"), layer(Origin.STACK, "a", "b"))
    merged = merge((*stack, layer(Origin.NODE, "dropped"), layer(Origin.NODE, "c")))
    assert merged["pci"]["device_spec"].value == Repeated(("a", "b", "c"))
    assert merge(stack)["pci"]["device_spec"].value == Repeated(("a", "b"))
    assert merge((layer(Origin.NODE, "c"),))["pci"]["device_spec"].value == Repeated(("c",))
