"""What the program of copies in an object store reads (scripts/backup_store.sh): account, address, and the recipient.

Copies are encrypted for a certificate whose key is derived from the root secret and is on no machine and in no pod. So
what makes copies reads none, nor does the owner of the object store.
"""

from __future__ import annotations

from collections.abc import Mapping

from blueprint.stackfile.backup_settings import BackupCopies
from formats.certificates import Pair, recipient
from openstack.config.layers import Reveal, Secret

ACCOUNT, URL, RECIPIENT, KEY = "curl.conf", "url", "recipient.crt", "recipient.key"
"""Files that the program reads."""
_NAME = "backup-copies"


def parts(copies: BackupCopies) -> Mapping[str, tuple[str | Secret, ...]]:
    """Returns the parts of the files that put copies into the store, by the files' names.

    The account is curl's configuration, so that it is in no argument.
    """
    access, secret = (Secret(each.key, encode=_quoted) for each in (copies.access_key, copies.secret_key))
    return {
        ACCOUNT: ('user = "', access, ":", secret, f'"\naws-sigv4 = "aws:amz:{copies.region}:s3"\n'),
        URL: (f"{copies.url}\n",),
        RECIPIENT: (Secret(_NAME, encode=_certificate),),
    }


def texts(copies: BackupCopies, reveal: Reveal) -> dict[str, str]:
    """Returns the texts of all files by name, with the key, which reads copies."""
    found = {
        name: "".join(part if isinstance(part, str) else part.revealed(reveal) for part in content)
        for name, content in parts(copies).items()
    }
    return found | {KEY: _pair(reveal(_NAME)).private}


def _certificate(secret: str) -> str:
    return _pair(secret).public


def _pair(secret: str) -> Pair:
    return recipient(_NAME, secret)


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
