"""Builds the programs of Kubernetes from Go modules, and an exporter of metrics, and stores them in the user's cache.

Only `quorate prove`, the machine lab and trials use these programs. Clones that pin the same versions share one build.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from console.errors import UserError
from console.exit_codes import exit_code
from console.programs import ProgramError, run
from console.progress import Reporter
from toolchain import checksums
from toolchain.engine import Unfinished, cache_directory, finish
from toolchain.go_build import Go, build_error, ensure_go, go_environment, version_of
from toolchain.install import ROOT, VENV, alone

MODULES = ROOT / "toolchain" / "cluster"
GO_LOCK = ROOT / "toolchain" / "engine" / "go.lock"


@dataclass(frozen=True)
class Program:
    """A Go program to build: its main package, and the directory below toolchain/cluster that pins its version."""

    name: str
    module: str
    package: str
    version_of: str
    """The Go module whose version is the program's version; empty for a program of this clone."""
    variable: str = ""
    """The Go variable that the build sets to the version; empty for none."""


def _kubernetes(name: str, module: str = "kubernetes") -> Program:
    variable = "k8s.io/component-base/version.gitVersion"
    return Program(name, module, f"k8s.io/kubernetes/cmd/{name}", "k8s.io/kubernetes", variable)


def _own(name: str) -> Program:
    """Returns a program whose main package is in this clone, below toolchain/cluster."""
    return Program(name, name, ".", "github.com/coredns/coredns" if name == "coredns" else "")


@dataclass(frozen=True)
class Bundle:
    """Programs that are built together and stored in one directory."""

    name: str
    what: str
    """Text for the progress output: what is built, and how long this takes."""
    programs: tuple[Program, ...]
    files: tuple[str, ...] = ()
    """Files and directories that are copied from the Go module of the first program."""

    @property
    def modules(self) -> tuple[str, ...]:
        """Names of the programs' directories below toolchain/cluster, sorted."""
        return tuple(sorted({program.module for program in self.programs}))


PROGRAMS = (
    Program("etcd", "etcd", "go.etcd.io/etcd/server/v3", "go.etcd.io/etcd/server/v3"),
    *(_kubernetes(name) for name in ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubeadm")),
    Program("kwok", "kwok", "sigs.k8s.io/kwok/cmd/kwok", "sigs.k8s.io/kwok", "sigs.k8s.io/kwok/pkg/consts.Version"),
)
CONTROL_PLANE = Bundle(
    "cluster", "a Kubernetes control plane, once for all clones: 5 to 8 minutes on two cores", PROGRAMS
)
NODE = Bundle(
    "node",
    "the programs of Kubernetes nodes, once for all clones: 3 to 8 minutes on two cores",
    (
        *(_kubernetes(name, "node") for name in ("kubelet", "kube-proxy", "kubectl")),
        *(
            Program(name, "etcd", f"go.etcd.io/etcd/{name}/v3", f"go.etcd.io/etcd/{name}/v3")
            for name in ("etcdctl", "etcdutl")
        ),
        _own("coredns"),
        _own("pause"),
    ),
)
"""Programs that the machines of the machine lab need in addition to the control plane."""

_EXPORTER = "github.com/prometheus-community/elasticsearch_exporter"
EXPORTER = Bundle(
    "exporter",
    "the exporter of OpenSearch's metrics, once for all clones: a minute on two cores",
    (Program("elasticsearch_exporter", "elasticsearch_exporter", _EXPORTER, _EXPORTER),),
)
"""The exporter in the version of Kolla's image for 2026.1, for trials with OpenSearch."""


def _calico(name: str, path: str) -> Program:
    return Program(name, "calico", f"{_CALICO}/{path}", _CALICO)


_CALICO = "github.com/projectcalico/calico"
CALICO = Bundle(
    "calico",
    "Calico, once for all clones: 5 to 8 minutes on two cores",
    (
        _calico("calico-node", "node/cmd/calico-node"),
        _calico("calico", "cni-plugin/cmd/calico"),
        _calico("install", "cni-plugin/cmd/install"),
        _calico("kube-controllers", "kube-controllers/cmd/kube-controllers"),
        _calico("check-status", "kube-controllers/cmd/check-status"),
    ),
    files=("manifests/calico.yaml", "node/filesystem"),
)
"""Calico's programs, its manifest, and the scripts that start its programs in the image of calico-node. Without cgo,
calico-node has no eBPF data plane."""


def ensure(reporter: Reporter, bundle: Bundle = CONTROL_PLANE) -> Path:
    """Returns the directory of a bundle's programs; builds programs that are missing from the cache or damaged."""
    cache = cache_directory(os.environ)
    # The bundle has its own lock, so that a set-up of the engine does not wait for this build.
    with alone(cache / bundle.name, reporter):
        go = ensure_go(cache, GO_LOCK, VENV, _needed_go(bundle), reporter)
        home = cache / f"{bundle.name}-{digest(go, bundle)}"
        if not checksums.exist(home):
            reporter.say(f"Building {bundle.what}.")
            _build_all(home, bundle, {program.name for program in bundle.programs}, go, reporter)
        elif damaged := checksums.damaged(home):
            reporter.say(f"Damaged programs in {home}: {', '.join(damaged)}. Building them again.")
            _build_all(home, bundle, set(damaged), go, reporter)
    return home


def kubernetes_version() -> str:
    """Returns the version of Kubernetes that the proof and the machine lab run."""
    return pinned(PROGRAMS[1])


def pinned(program: Program) -> str:
    """Returns the version that the program's go.mod pins; empty for a program of this clone."""
    if not program.version_of:
        return ""
    text = (MODULES / program.module / "go.mod").read_text(encoding="utf-8")
    found = re.search(rf"^(?:require)?\s*{re.escape(program.version_of)} (v\S+)", text, re.MULTILINE)
    if not found:
        raise UserError(f"toolchain/cluster/{program.module}/go.mod does not require {program.version_of}.")
    return found[1]


def digest(go: Go, bundle: Bundle = CONTROL_PLANE) -> str:
    """Returns the digest of a bundle's sources, which names its build.

    Clones with the same digest share the programs.
    """
    made_from = hashlib.sha256()
    for path in (path for module in bundle.modules for path in sorted((MODULES / module).iterdir())):
        made_from.update(f"{path.parent.name}/{path.name}\0".encode() + path.read_bytes() + b"\0")
    facts = [go.name, go.system, [[each.name, each.package, *_flags(each)] for each in bundle.programs]]
    made_from.update(json.dumps(facts).encode())
    return made_from.hexdigest()[:16]


def _needed_go(bundle: Bundle) -> tuple[int, ...]:
    texts = [(MODULES / module / "go.mod").read_text(encoding="utf-8") for module in bundle.modules]
    return max(version_of(re.findall(r"^go (\S+)", text, re.MULTILINE)[0]) for text in texts)


def _flags(program: Program) -> list[str]:
    version = f" -X {program.variable}={pinned(program)}" if program.variable else ""
    return ["-trimpath", "-buildvcs=false", f"-ldflags=-s -w{version}"]


def _build_all(home: Path, bundle: Bundle, missing: set[str], go: Go, reporter: Reporter) -> None:
    """Builds the missing programs of a bundle, copies the others from `home`, and replaces `home` by the result."""
    with Unfinished(home) as partial:
        for number, program in enumerate(bundle.programs, start=1):
            output = partial / program.name
            if program.name in missing:
                _build(program, go, output, f"{number} of {len(bundle.programs)}", reporter)
            else:
                shutil.copy2(home / program.name, output)
        copied = _copy_files(bundle, go, partial)
        checksums.write(partial, [*(partial / program.name for program in bundle.programs), *copied])
        finish(partial, home)


def _copy_files(bundle: Bundle, go: Go, target: Path) -> list[Path]:
    """Copies a bundle's files from its Go module, below the same paths, and returns them."""
    if not bundle.files:
        return []
    first = bundle.programs[0]
    question = [go.command, "list", "-m", "-f", "{{.Dir}}", first.version_of]
    source = Path(run(question, directory=MODULES / first.module, environment=go_environment(os.environ))[-1])
    found = [path for name in bundle.files for path in (source / name, *(source / name).rglob("*")) if path.is_file()]
    copies = [target / path.relative_to(source) for path in found]
    for path, copy in zip(found, copies, strict=True):
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    return copies


def _build(program: Program, go: Go, output: Path, place: str, reporter: Reporter) -> None:
    what = f"{program.name} {pinned(program)}".strip()
    reporter.begin(f"Building {what} ({place}) from Go modules")
    packages = 0

    def follow(line: str) -> None:
        nonlocal packages
        if line.startswith("go: downloading"):
            reporter.tick(f"downloading {line.split()[2]}")
        elif not line.startswith(("go:", "#")):
            packages += 1
            reporter.tick(f"{packages} packages compiled")

    command = [go.command, "build", "-v", *_flags(program), "-o", output, program.package]
    try:
        run(command, directory=MODULES / program.module, environment=go_environment(os.environ), on_line=follow)
    except ProgramError as failure:
        raise build_error(failure, what) from None
    reporter.end()


def main() -> int:
    """`python -m toolchain.cluster_programs`: installs the programs and prints their directory."""
    reporter = Reporter()
    return exit_code(lambda: print(ensure(reporter)), reporter)


if __name__ == "__main__":
    sys.exit(main())
