"""What sed makes of a text, as GNU sed 4.9 does it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from policy.shell.sed import Uncomputed, sed_call

TEXT = "# a comment\nA=1\nB=false\nPATH=/usr/bin:/bin\n[service]\nC = (x+y)\n\nD=A&B\n"
COMPUTED = (
    ["s/false/true/"],
    ["-E", "s/^(A|B)=(.*)$/\\2=\\1/"],
    ["s/^\\(A\\|B\\)=.*/\\1=new/"],
    ["s#/usr/bin#/opt#g;s/=/ = /"],
    ["-e", "/^#/d", "-e", "/^$/d"],
    ["2,3d"],
    ["/A=1/,/PATH/s/=/:/"],
    ["$ a last=1"],
    ["1i first=1"],
    ["/^B=/c\\B=true"],
    ["/B=/!s/1/2/"],
    ["\\,^B,d"],
    ["s/[[:space:]]*=[[:space:]]*/=/"],
    ["s/(x+y)/\\&&/"],
    ["-r", "s/\\(x\\+y\\)/z/"],
    ["s/a/X/Ig"],
    ["s/b*=/~/"],
    ["s|\\[service\\]|[unit]|"],
    ["s/A.*/a\\nb/"],
)
NOT_COMPUTED = (["y/abc/def/"], ["-n", "/A/p"], ["-f", "script.sed"], ["s/a/b/w out"], ["s/a/\\U&/"], ["N;s/\\n//"])


@pytest.mark.parametrize("words", COMPUTED, ids=" ".join)
def test_it_is_what_sed_prints(words: list[str], tmp_path: Path) -> None:
    if shutil.which("sed") is None:
        pytest.skip("sed is not on PATH")
    path = tmp_path / "text"
    path.write_text(TEXT, encoding="utf-8")
    printed = subprocess.run(["sed", *words, str(path)], capture_output=True, text=True, check=True).stdout
    call = sed_call([*words, str(path)])
    assert call.of(TEXT) == printed
    assert call.files == (str(path),)
    assert not call.in_place


@pytest.mark.parametrize("words", NOT_COMPUTED, ids=" ".join)
def test_what_is_not_computed_is_said(words: list[str]) -> None:
    with pytest.raises(Uncomputed):
        sed_call([*words, "file"]).of(TEXT)


@pytest.mark.parametrize("option", ["-i", "-i.bak", "--in-place", "-Ei", "-ri"])
def test_in_place(option: str) -> None:
    call = sed_call([option, "s/a/b/", "one", "two"])
    assert call.in_place
    assert call.files == ("one", "two")
