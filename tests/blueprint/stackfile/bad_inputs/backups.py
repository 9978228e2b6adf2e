"""Bad inputs: object stores that copies of backups could not reach."""

from __future__ import annotations

from typing import Any

from tests.blueprint.stackfile.bad_inputs.case import Bad, stack

KEY = "quorate:backups.copies"
PLACES = {"accessKey": {"environment": "ACCESS"}, "secretKey": {"file": "secret.key"}}
STORE: dict[str, Any] = {"endpoint": "https://s3.example.org", "bucket": "backups", "prefix": "prod", **PLACES}


def copies(said: str, **changes: Any) -> Bad:
    """A stack whose object store has these keys changed."""
    return Bad(stack(backups={"copies": {**STORE, **changes}}), f"{KEY}.{said}")


CASES = {
    "a path": copies("endpoint: 'https://s3.example.org/' does not fit", endpoint="https://s3.example.org/"),
    "no scheme": copies("endpoint: 's3.example.org' does not fit; write an address such as", endpoint="s3.example.org"),
    "a bucket in upper case": copies("bucket: 'Backups' does not fit; write a name of 3 to 63", bucket="Backups"),
    "a prefix of folders": copies("prefix: 'a/b' does not fit; write a name of up to 63 letters", prefix="a/b"),
    "a region with a colon": copies("region: 'a:b' does not fit; write the name of a region", region="a:b"),
    "a secret in clear": copies("secretKey: holds a secret in clear text; remove it", secretKey="wJalrXUtnFEMI"),
    "no prefix": Bad(
        stack(backups={"copies": {key: value for key, value in STORE.items() if key != "prefix"}}),
        f"{KEY}.prefix: is missing; write it (what the names of all objects of this stack begin with",
    ),
    "a misspelt key": Bad(stack(backups={"copy": STORE}), "quorate:backups.copy: unknown key (did you mean 'copies'?)"),
}
