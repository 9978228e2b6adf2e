"""Settings of `quorate:backups`: an object store with the API of S3 that takes encrypted copies of backups."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from blueprint.stackfile.values import OthersSecret, Strict

KEY = "quorate:backups.copies"
ENDPOINT = r"^https?://[A-Za-z0-9]([-A-Za-z0-9.]{0,251}[A-Za-z0-9])?(:[0-9]{1,5})?$"
"""Matches the address of an object store. Buckets are paths below it, not names in front of it."""
BUCKET = r"^[a-z0-9][-a-z0-9.]{1,61}[a-z0-9]$"
"""Matches names of buckets (Amazon S3 User Guide, General purpose bucket naming rules)."""
PREFIX = r"^[A-Za-z0-9][-A-Za-z0-9_.]{0,62}$"
"""Matches prefixes of objects without '/', and without characters that an address must not have."""
REGION = r"^[a-z0-9][-a-z0-9]{0,62}$"


class BackupCopies(Strict):
    """The bucket that takes copies of backups. The account needs to put, get and list objects, not to delete."""

    endpoint: Annotated[
        str,
        StringConstraints(pattern=ENDPOINT),
        Field(description="address of the object store, such as https://s3.example.org, which masters and pods reach"),
    ]
    bucket: Annotated[str, StringConstraints(pattern=BUCKET), Field(description="a bucket that exists")]
    prefix: Annotated[
        str,
        StringConstraints(pattern=PREFIX),
        Field(description="what the names of all objects of this stack begin with; another one for each stack"),
    ]
    region: Annotated[
        str, StringConstraints(pattern=REGION), Field(description="the region that requests are signed for")
    ] = "us-east-1"
    access_key: Annotated[OthersSecret, Field(description="where 'quorate up' finds the account's access key ID")]
    secret_key: Annotated[OthersSecret, Field(description="where 'quorate up' finds its secret access key")]

    @property
    def url(self) -> str:
        """The address below which all objects are."""
        return f"{self.endpoint}/{self.bucket}/{self.prefix}"


class Backups(Strict):
    """What happens to backups beside where they are made."""

    copies: Annotated[
        BackupCopies | None,
        Field(description="object store that takes encrypted copies of the backups of etcd and Galera; left out: none"),
    ] = None
