"""Copies the jars of OpenSearch's server from Maven Central, and stores them in the user's cache.

No registry has OpenSearch's distribution, which Kolla's image contains, but the jars it consists of. Only trials use
them. Maven copies what toolchain/opensearch/pom.xml names and needs; a jar that toolchain/opensearch/opensearch.sha256
does not list, or with another sum, is refused.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from pathlib import Path

from console.errors import UserError
from console.programs import ProgramError, run
from console.progress import Reporter
from toolchain import checksums
from toolchain.engine import Unfinished, cache_directory, finish
from toolchain.install import ROOT, alone

MODULE = ROOT / "toolchain" / "opensearch"
SUMS = "opensearch.sha256"
OF_NETTY = "modules/transport-netty4"
"""Directory of the module with which members and clients connect; it has jars of its own."""
_DESCRIPTOR = """\
description=Netty 4 based transport implementation
version={version}
name=transport-netty4
classname=org.opensearch.transport.Netty4Plugin
java.version=11
opensearch.version={version}
"""
_POLICY = """\
grant {
  permission java.net.SocketPermission "*", "accept,connect,resolve";
};
"""
"""What the module may do: OpenSearch's security manager refuses all other connections."""
_LIMIT = 900
"""Timeout of Maven in seconds."""


def ensure(reporter: Reporter) -> Path:
    """Returns the home directory of an OpenSearch; makes it if the cache does not have it or it is damaged.

    Raises UserError without Maven, or if Maven Central cannot be reached.
    """
    cache = cache_directory(os.environ)
    with alone(cache / "opensearch", reporter):
        home = cache / f"opensearch-{_digest()}"
        if not checksums.exist(home) or checksums.damaged(home):
            _make(home, reporter)
    return home


def version() -> str:
    """Returns the version of OpenSearch that pom.xml pins."""
    text = (MODULE / "pom.xml").read_text(encoding="utf-8")
    return re.findall(r"<artifactId>opensearch</artifactId>\s*<version>(.+)</version>", text)[0]


def _digest() -> str:
    made_from = hashlib.sha256()
    for path in sorted(MODULE.iterdir()):
        made_from.update(path.read_bytes())
    return made_from.hexdigest()[:16]


def _make(home: Path, reporter: Reporter) -> None:
    maven = shutil.which("mvn")
    if not maven:
        raise UserError("OpenSearch's jars are copied by Maven: install it, with `apt-get install maven` on Debian")
    reporter.begin(f"Copying the jars of OpenSearch {version()}", "a minute, once for all clones")
    with Unfinished(home) as partial:
        jars = partial / "jars"
        words = ["--batch-mode", "--quiet", "dependency:copy-dependencies", f"-DoutputDirectory={jars}"]
        try:
            run([maven, "--file", MODULE / "pom.xml", *words], timeout=_LIMIT)
        except ProgramError as failure:
            raise UserError(f"The jars of OpenSearch could not be copied: {failure}\n{failure.tail()}") from None
        _check(jars)
        _arrange(jars, partial)
        checksums.write(partial, [*partial.rglob("*.jar")])
        finish(partial, home)
    reporter.end()


def _check(jars: Path) -> None:
    lines = (MODULE / SUMS).read_text(encoding="ascii").splitlines()
    listed = {name: wanted for wanted, name in map(str.split, lines)}
    found = {jar.name: hashlib.sha256(jar.read_bytes()).hexdigest() for jar in jars.iterdir()}
    if differ := sorted(name for name, _ in listed.items() ^ found.items()):
        raise UserError(
            f"Jars of OpenSearch differ from toolchain/opensearch/{SUMS}: {', '.join(dict.fromkeys(differ))}"
        )


def _arrange(jars: Path, home: Path) -> None:
    """Moves the jars to where OpenSearch looks for them: those of its transport are a module."""
    module, library = home / OF_NETTY, home / "lib"
    for directory in (module, library, home / "plugins"):
        directory.mkdir(parents=True)
    for jar in sorted(jars.iterdir()):
        jar.rename((module if jar.name.startswith(("netty-", "transport-netty4-")) else library) / jar.name)
    jars.rmdir()
    (module / "plugin-security.policy").write_text(_POLICY, encoding="utf-8")
    (module / "plugin-descriptor.properties").write_text(_DESCRIPTOR.format(version=version()), encoding="utf-8")
