"""Builds the layers of images and keeps them in the user's cache, by content, for all clones.

The first layer is a Debian root made by mmdebstrap. Every other layer is what a recipe's script changes in an overlay
of its parents. A layer's directory has its tree, on which further layers are built, and the tree as an archive.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import ssl
import tempfile
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from console.errors import UserError
from console.programs import ProgramError, run
from console.progress import Reporter
from toolchain import checksums, debian_root
from toolchain.engine import Unfinished, finish
from trials.cloud.images import archive, kolla, script
from trials.cloud.images.archive import ImageLayer
from trials.cloud.images.recipe import ImageCatalogue, Recipe, digest, read_own

OVERLAY = Path(__file__).parent / "layer.sh"
_TREE, _BLOB, _RECORD = "tree", "layer.tar.gz", "layer.json"
_ROOT = (
    "--variant=minbase",
    '--aptopt=APT::Install-Recommends "false"',
    '--aptopt=APT::Sandbox::User "root"',
    '--aptopt=Acquire::Languages "none"',
    '--aptopt=Dir::Cache::pkgcache ""',
    '--aptopt=Dir::Cache::srcpkgcache ""',
    *(f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in ("doc", "info", "locale", "man")),
    '--customize-hook=rm -f "$1"/etc/hostname "$1"/var/cache/debconf/*-old "$1"/var/lib/dpkg/*-old',
    '--customize-hook=rm -f "$1"/etc/resolv.conf "$1"/etc/machine-id && touch "$1"/etc/resolv.conf',
    # Kolla's numbers are above those that Debian takes for a service's.
    '--customize-hook=sed -i -E "s/^#?(LAST_SYSTEM_[UG]ID)=.*/\\1=59999/" "$1"/etc/adduser.conf',
)
"""Options of mmdebstrap for the first layer."""
_PATH = "/var/lib/kolla/venv/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_AUTHORITIES = "/tmp/authorities.pem"  # noqa: S108 - a path in the image's root
_PASSED = re.compile(r"(?:https?|all|no)_proxy|(?:PIP|UV)(?:_[A-Z]+)*_(?:INDEX(?:_URL)?|TRUSTED_HOST)", re.IGNORECASE)
"""Variables of the user's environment that tell the way to packages."""


@dataclass(frozen=True)
class Builder:
    """Builds layers of recipes. The caller holds the lock of the cache."""

    recipes: ImageCatalogue
    kolla: kolla.Kolla
    cache: Path
    reporter: Reporter

    def layers(self, names: Iterable[str]) -> dict[str, tuple[ImageLayer, ...]]:
        """Returns each image's layers, the lowest first; builds those that the cache does not have, or has damaged.

        Raises UserError if one cannot be built. Layers that are complete are kept.
        """
        wanted = {name: self.recipes.chain(name) for name in names}
        every = dict.fromkeys(layer for chain in wanted.values() for layer in chain)
        missing = [name for name in every if not _is_intact(self.home(name))]
        if missing:
            with self._shared() as shared:
                for number, name in enumerate(missing, 1):
                    self.reporter.begin(f"Building the layer {name}, {number} of {len(missing)}")
                    self._build(name, shared)
                    self.reporter.end(f"{self._layer(name).size / 2**20:.0f} MiB")
        return {name: tuple(self._layer(each) for each in chain) for name, chain in wanted.items()}

    def home(self, name: str) -> Path:
        """Returns the directory of a layer, whose name has a digest of all that the layer is made from."""
        recipe, chain = self.recipes.images[name], self.recipes.chain(name)
        if len(chain) == 1:
            base = [json.dumps([debian_root.SUITE, platform.machine(), _ROOT]).encode()]
        else:
            base = [self.home(chain[-2]).name.encode(), OVERLAY.read_bytes(), kolla.LOCK.read_bytes()]
            base += [lock.read_bytes() for lock in script.locks(recipe)]
            base.append(script.text(name, recipe, self.kolla.users).encode())
        return self.cache / f"{name}-{digest(recipe, *base)}"

    def _layer(self, name: str) -> ImageLayer:
        home = self.home(name)
        return ImageLayer(path=home / _BLOB, **json.loads((home / _RECORD).read_text(encoding="utf-8")))

    def _build(self, name: str, shared: Path) -> None:
        home, recipe, chain = self.home(name), self.recipes.images[name], self.recipes.chain(name)
        try:
            with Unfinished(home) as partial:
                if len(chain) == 1:
                    self._install_root(partial / _TREE, recipe)
                else:
                    lower = [self.home(parent) / _TREE for parent in reversed(chain[:-1])]
                    self._run(lower, partial, shared, script.text(name, recipe, self.kolla.users))
                record = archive.pack(partial / _TREE, partial / _BLOB)
                (partial / _RECORD).write_text(json.dumps(record), encoding="utf-8")
                checksums.write(partial, [partial / _BLOB, partial / _RECORD])
                finish(partial, home)
        except ProgramError as failure:
            raise UserError(
                f"The layer {name} could not be built: {failure}. Complete layers are kept; run the same command again "
                f"to continue. The end of the output:\n{failure.tail(20)}"
            ) from None
        except archive.UnsupportedFileError as error:
            raise UserError(f"The layer {name} could not be packed: {error}") from None

    def _install_root(self, tree: Path, recipe: Recipe) -> None:
        debian_root.require_mmdebstrap(self.reporter)
        words = [*_ROOT, f"--include={','.join(recipe.packages)}", debian_root.SUITE, tree, debian_root.mirror()]
        run([*debian_root.MMDEBSTRAP, *words], on_line=lambda line: self.reporter.tick(line[:80]))

    def _run(self, lower: list[Path], partial: Path, shared: Path, text: str) -> None:
        for folder in (_TREE, "work", "root"):
            (partial / folder).mkdir()
        words = ["sh", OVERLAY, ":".join(map(str, lower)), partial, shared, text]
        namespaces = [shutil.which("unshare") or "unshare", "--mount", "--pid", "--fork", "--kill-child"]
        run([*namespaces, *words], environment=_environment(), on_line=lambda line: self.reporter.tick(line[:80]))
        for folder in ("work", "root"):
            shutil.rmtree(partial / folder)

    @contextmanager
    def _shared(self) -> Generator[Path]:
        """A temporary directory with apt's lists and downloads, and what the scripts find in /tmp."""
        with tempfile.TemporaryDirectory(prefix="shared-", dir=self.cache) as name:
            shared = Path(name)
            for folder in ("lists/partial", "archives/partial", "inputs/locks", "inputs/own"):
                (shared / folder).mkdir(parents=True)
            shutil.copytree(self.kolla.docker, shared / "inputs" / "kolla")
            for recipe in self.recipes.images.values():
                for lock in script.locks(recipe):
                    shutil.copy(lock, shared / "inputs" / "locks")
                for source in recipe.files.values():
                    (shared / "inputs" / "own" / source).write_bytes(read_own(source))
            if authorities := ssl.get_default_verify_paths().cafile:
                shutil.copy(authorities, shared / "inputs" / Path(_AUTHORITIES).name)
            yield shared


def _is_intact(home: Path) -> bool:
    return checksums.exist(home) and not checksums.damaged(home) and (home / _TREE).is_dir()


def _environment() -> dict[str, str]:
    """Returns the environment of the scripts: none of the machine's, but the way to packages."""
    passed = {name: value for name, value in os.environ.items() if _PASSED.fullmatch(name)}
    trusted = dict.fromkeys(("PIP_CERT", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"), _AUTHORITIES)
    return {**passed, **trusted, "DEBIAN_FRONTEND": "noninteractive", "LANG": "C.UTF-8", "PATH": _PATH}
