"""Certificates as openssl on a machine tells their ends."""

from __future__ import annotations

import shutil
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from operations.living import certificates
from operations.living.answers import Answer
from operations.living.certificates import QUESTION

NOW = datetime(2026, 11, 28, tzinfo=UTC)
SAID = """\
/etc/etcd/pki/server.crt notAfter=Dec  1 10:00:00 2026 GMT
/etc/kubernetes/pki/ca.crt notAfter=Nov 25 10:00:00 2036 GMT
/etc/kubernetes/pki/broken.crt 
"""  # noqa: W291 - openssl said nothing


def test_the_next_to_expire_is_first() -> None:
    found = certificates.read({"master1": Answer({"certificates": SAID}), "master2": Answer(problem="silent")})
    assert [each.path for each in found] == ["/etc/etcd/pki/server.crt", "/etc/kubernetes/pki/ca.crt"]
    assert found[0].machine == "master1"
    assert found[0].left(NOW) == timedelta(days=3, hours=10)
    assert certificates.expiring(found, NOW) == found[:1]
    assert certificates.expiring(found, NOW + timedelta(days=10)) == found[:1]


@pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed")
def test_the_question_is_answered_by_a_real_openssl(tmp_path: Path) -> None:
    made = tmp_path / "etc/etcd/pki"
    made.mkdir(parents=True)
    command = ["openssl", "req", "-x509", "-newkey", "ed25519", "-nodes", "-days", "20", "-subj", "/CN=x"]
    subprocess.run([*command, "-keyout", made / "x.key", "-out", made / "server.crt"], check=True, capture_output=True)
    line = QUESTION.replace("/etc/", f"{tmp_path}/etc/")
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=True)
    (found,) = certificates.read({"here": Answer({"certificates": done.stdout})})
    assert found.path == f"{made}/server.crt"
    assert timedelta(days=19) < found.left(datetime.now(UTC)) <= timedelta(days=20)
