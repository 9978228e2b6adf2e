"""OpenSearch's jars from Maven Central, with a small program in place of Maven."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from console.errors import UserError
from console.progress import Reporter
from tests.fakes import script
from toolchain import opensearch_programs

JARS = ("netty-buffer-4.jar", "opensearch-2.jar", "transport-netty4-client-2.jar")
MAVEN = """\
for word in "$@"; do
    case $word in -DoutputDirectory=*) jars=${word#*=} ;; esac
done
mkdir -p "$jars"
for jar in $JARS; do printf '%s' "$jar" >"$jars/$jar"; done
"""


@pytest.fixture(autouse=True)
def maven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = tmp_path / "module"
    module.mkdir()
    (module / "pom.xml").write_text("<artifactId>opensearch</artifactId>\n<version>2.1.0</version>")
    sums = (f"{hashlib.sha256(jar.encode()).hexdigest()}  {jar}\n" for jar in JARS)
    (module / opensearch_programs.SUMS).write_text("".join(sums))
    monkeypatch.setattr(opensearch_programs, "MODULE", module)
    script(tmp_path / "bin", "mvn", MAVEN)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("JARS", " ".join(JARS))


def test_the_transport_is_a_module_of_its_own_and_the_rest_a_library() -> None:
    home = opensearch_programs.ensure(Reporter())
    found = {str(path.relative_to(home)) for path in home.rglob("*.jar")}
    module = opensearch_programs.OF_NETTY
    assert found == {f"{module}/{JARS[0]}", f"lib/{JARS[1]}", f"{module}/{JARS[2]}"}
    assert "opensearch.version=2.1.0" in (home / module / "plugin-descriptor.properties").read_text()
    assert opensearch_programs.ensure(Reporter()) == home, "made once"


@pytest.mark.parametrize("jars", [JARS[:2], (*JARS, "unknown.jar")], ids=["one that lacks", "one that is not listed"])
def test_other_jars_are_refused(monkeypatch: pytest.MonkeyPatch, jars: tuple[str, ...]) -> None:
    monkeypatch.setenv("JARS", " ".join(jars))
    with pytest.raises(UserError, match=f"differ from .*: {(set(jars) ^ set(JARS)).pop()}$"):
        opensearch_programs.ensure(Reporter())


def test_a_jar_with_another_content_is_refused(tmp_path: Path) -> None:
    script(tmp_path / "bin", "mvn", MAVEN.replace("printf '%s'", "printf '%s again'"))
    with pytest.raises(UserError, match=", ".join(JARS)):
        opensearch_programs.ensure(Reporter())


def test_a_machine_without_maven_is_told_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="apt-get install maven"):
        opensearch_programs.ensure(Reporter())


def test_the_sums_are_of_the_version_that_is_pinned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    sums = (opensearch_programs.MODULE / opensearch_programs.SUMS).read_text()
    assert f"  opensearch-{opensearch_programs.version()}.jar\n" in sums
