"""Certificates without a root secret, for tests of machines' files."""

from __future__ import annotations

from components.k8s_master.pki import Pki
from components.secrets import Keyring

CERTIFICATES = Pki(Keyring("kubernetes", None))
