"""Signed reports: what a change of a file, a key or a folder of the chain does, and OpenSSL's view."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from audit import bundle
from audit.bundle import BadKey, ReportOrigin

ORIGIN = ReportOrigin("prod", "0" * 64, "1" * 40, "3.272.0")


@pytest.fixture
def keys(tmp_path: Path) -> tuple[Path, Path]:
    """A private and a public key, made by OpenSSL."""
    if not shutil.which("openssl"):
        pytest.skip("needs openssl")
    private, public = tmp_path / "key.pem", tmp_path / "key.pub.pem"
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", private], check=True)
    subprocess.run(["openssl", "pkey", "-in", private, "-pubout", "-out", public], check=True)
    return private, public


@pytest.fixture
def chain(tmp_path: Path, keys: tuple[Path, Path]) -> Path:
    """A chain of three reports."""
    report = tmp_path / "audit"
    report.mkdir()
    for number in (1, 2, 3):
        findings = {"generatedBy": {"version": "0.7.0", "time": number}, "summary": {"verdict": "pass"}}
        (report / "findings.json").write_text(json.dumps(findings), encoding="utf-8")
        (report / "audit.md").write_text(f"report {number}", encoding="utf-8")
        bundle.sign(report, tmp_path / "audits", bundle.private_key(keys[0].read_bytes()), ORIGIN)
    return tmp_path / "audits"


def faults(chain: Path, public: Path, stack: str = "prod") -> list[str]:
    return list(bundle.faults(chain, bundle.public_key(public.read_bytes()), stack))


def test_a_whole_chain_has_no_fault(chain: Path, keys: tuple[Path, Path]) -> None:
    assert [each.name for each in bundle.bundles(chain)] == ["000001", "000002", "000003"]
    assert faults(chain, keys[1]) == []
    assert "of stack prod" in faults(chain, keys[1], "other")[0]


def test_a_changed_or_added_file_is_named(chain: Path, keys: tuple[Path, Path]) -> None:
    (chain / "000002" / "audit.md").write_text("all is well", encoding="utf-8")
    (chain / "000003" / "more.md").write_text("", encoding="utf-8")
    (chain / "000001" / "findings.json").unlink()
    assert faults(chain, keys[1]) == [
        "000001: findings.json is missing",
        "000002: audit.md has changed",
        "000003: more.md is not part of the signed report",
    ]


def test_a_missing_report_is_named(chain: Path, keys: tuple[Path, Path]) -> None:
    shutil.rmtree(chain / "000002")
    assert faults(chain, keys[1]) == ["000003: reports from 000002 to 000002 are missing"]


def test_a_report_in_place_of_another_is_named(chain: Path, keys: tuple[Path, Path]) -> None:
    shutil.rmtree(chain / "000002")
    shutil.copytree(chain / "000001", chain / "000002")
    found = faults(chain, keys[1])
    assert "000002: is report 1 of stack prod" in found
    assert "000003: the report before it is another one than when it was signed" in found


def test_a_changed_statement_is_not_by_the_key(chain: Path, keys: tuple[Path, Path]) -> None:
    file = chain / "000003" / bundle.NAME
    file.write_text(file.read_text(encoding="utf-8").replace('"pass"', '"fail"'), encoding="utf-8")
    assert faults(chain, keys[1]) == ["000003: the signature of bundle.json is not by this key"]


def test_openssl_verifies_the_signature(chain: Path, keys: tuple[Path, Path], tmp_path: Path) -> None:
    folder = chain / "000001"
    (tmp_path / "raw").write_bytes(base64.b64decode((folder / bundle.SIGNATURE).read_bytes()))
    command = ["openssl", "pkeyutl", "-verify", "-rawin", "-pubin", "-inkey", keys[1], "-sigfile", tmp_path / "raw"]
    assert subprocess.run([*command, "-in", folder / bundle.NAME], check=False).returncode == 0
    assert subprocess.run([*command, "-in", folder / "audit.md"], check=False).returncode != 0


def test_another_kind_of_key_is_refused(tmp_path: Path, keys: tuple[Path, Path]) -> None:
    with pytest.raises(BadKey, match="no private key"):
        bundle.private_key(b"hello")
    with pytest.raises(BadKey, match="no public key"):
        bundle.public_key(keys[0].read_bytes())
    subprocess.run(["openssl", "genpkey", "-algorithm", "x25519", "-out", tmp_path / "x"], check=True)
    with pytest.raises(BadKey, match="not of Ed25519"):
        bundle.private_key((tmp_path / "x").read_bytes())
