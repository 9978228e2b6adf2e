"""Bad inputs that ended in a traceback, filled the memory, were accepted, or got the parser's words alone."""

from __future__ import annotations

from tests.blueprint.stackfile.bad_inputs.case import Bad, stack

FILE = "Pulumi.test.yaml: is not valid YAML: "
LONG = "x" * 400_000
EACH = ", ".join(f"f{number}: *a" for number in range(5000))


def waived(day: str) -> Bad:
    text = f"quorate:waivers: [{{rule: galera-size, resource: x, reason: r, owner: o, expires: {day}}}]"
    said = f"quorate:waivers[0].expires: '{day}' does not fit; write a date such as 2027-01-31"
    return Bad(stack().replace("config:", f"config:\n  {text}", 1), said)


CASES = {
    "a topology in a loop": Bad(
        lambda file: (file.write_text(stack(topology="t.yaml")), (file.parent / "t.yaml").symlink_to("t.yaml")),
        "quorate:topology (t.yaml): cannot be read: its symbolic links form a loop; give the path of a topology file",
        messages=8,
    ),
    "5000 aliases of a long text": Bad(
        f"x: &a {LONG}\nconfig: {{quorate:services: {{nova-api: {{config: {{{EACH}}}}}}}}}\n",
        f"{FILE}stands for 1907 MB of text with its aliases; write fewer",
    ),
    "a key of braces": Bad(
        "config: {{a: b}: c}\n", f"{FILE}line 1, column 10: found unhashable key; a key is one word"
    ),
    "a key too far left": Bad(
        "config:\n  a: b\n c: d\n", f"{FILE}line 3, column 2: did not find expected key; write `key: value`, as far"
    ),
    "a tab": Bad(
        "config:\n\ta: b\n", f"{FILE}line 2, column 1: found character that cannot start any token; indent with"
    ),
    "quotes that stay open": Bad("config: 'a\n", f"{FILE}line 2, column 1: found unexpected end of stream; close the"),
    "a list that ends early": Bad(
        "config:\n  - a\n  b: c\n", f"{FILE}line 3, column 3: did not find expected '-' indicator; write `- ` before"
    ),
    "an alias of nothing": Bad("config: *a\n", f"{FILE}line 1, column 9: found undefined alias; put text that begins"),
    "the digest of no image": Bad(
        stack(images={"digests": {"nova-apy": f"sha256:{'0' * 64}"}}),
        "quorate:images.digests.nova-apy: no service has this image (did you mean 'nova-api'?); write its name without",
    ),
    "a date as a week": waived("2027-W05-1"),
    "a date as a week without a day": waived("2027-W05"),
}
