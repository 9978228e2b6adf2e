"""The table of what tests cost, from the durations that a run wrote."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests import costs
from tests.stacks import ROOT

LINES = (
    "10.00\t6.00\tsetup\tpassed\ttests/engine/test_tree.py::test_a",
    "80.00\t60.00\tcall\tpassed\ttests/engine/test_tree.py::test_a",
    "30.00\t29.00\tcall\tfailed\ttests/policy/test_rule.py::test_b[x]",
    "5.00\t4.00\tcall\tpassed\ttests/text/test_quoting.py::test_c",
    "1.00\t1.00\tcall\tpassed\ttests/test_readme.py::test_d",
)


def test_the_longest_part_is_first_and_nothing_is_left_out() -> None:
    assert costs.table(LINES).splitlines()[2:] == [
        "| `tests/engine` | 1 | 1.5 | 1.1 |",
        "| `tests/policy` | 1 | 0.5 | 0.5 |",
        "| all others | 2 | 0.1 | 0.1 |",
        "| together | 4 | 2.1 | 1.7 |",
    ]


def test_a_run_writes_what_the_table_reads(tmp_path: Path) -> None:
    work = "import subprocess, sys\ndef test_one(): subprocess.run([sys.executable, '-c', 'sum(range(30_000_000))'])\n"
    (tmp_path / "test_one.py").write_text(work, encoding="utf-8")
    program = f"import tests.costs as c, pathlib, pytest; c.FILE = pathlib.Path({str(tmp_path / 'd.tsv')!r}); "
    program += f"raise SystemExit(pytest.main(['-q', '-n', '1', '-p', 'tests.costs', {str(tmp_path)!r}]))"
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True, capture_output=True)
    lines = (tmp_path / "d.tsv").read_text(encoding="utf-8").splitlines()
    assert [line.split("\t")[2] for line in lines] == ["setup", "call", "teardown"]
    setup, call, _ = (float(line.split("\t")[1]) for line in lines)
    assert call > max(setup, 0.05), "of the program that the test has started"
    assert "| together | 1 | " in costs.table(lines)
