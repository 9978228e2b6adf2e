"""The generations of certificate authorities and keys of tokens: which one signs, and which ones are trusted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from blueprint.stackfile.values import Strict
from blueprint.version_steps import CLUSTER, COMPUTES, ETCD, SERVICE_ACCOUNTS

KEY = "quorate:certificates"
Generation = Annotated[int, Field(ge=1, le=1000)]


class Generations(Strict):
    """The generations of an authority, or of a key. The first is 1.

    Each generation of an authority is valid five years longer than the one before; keys alone do not expire.
    """

    uses: Annotated[Generation, Field(description="the generation that signs")] = 1
    trusts: Annotated[
        tuple[Generation, ...],
        Field(
            min_length=1,
            max_length=2,
            description="the generations whose signatures are accepted; two while one replaces the other",
        ),
    ] = (1,)

    @property
    def is_first(self) -> bool:
        """Whether there is no other generation than the first."""
        return self.uses == 1 and self.trusts == (1,)

    def __str__(self) -> str:
        """Returns the form in which a deployment records them, such as "1 of 1+2"."""
        return f"{self.uses} of {'+'.join(map(str, self.trusts))}"


class CertificateGenerations(Strict):
    """The authorities and keys whose generations a stack sets."""

    etcd: Annotated[Generations, Field(description="the authority of etcd's members and clients")] = Generations()
    kubernetes: Annotated[
        Generations, Field(description="the authority of API servers, kubelets and other clients of Kubernetes")
    ] = Generations()
    service_accounts: Annotated[Generations, Field(description="the keys that sign the tokens of service accounts")] = (
        Generations()
    )
    computes: Annotated[
        Generations, Field(description="the authority by which computes let each other move virtual machines")
    ] = Generations()

    @property
    def by_name(self) -> Mapping[str, Generations]:
        """The generations by their name in the stack file, and in the record of a deployment."""
        return {
            ETCD: self.etcd,
            CLUSTER: self.kubernetes,
            SERVICE_ACCOUNTS: self.service_accounts,
            COMPUTES: self.computes,
        }

    @property
    def recorded(self) -> Mapping[str, str]:
        """What a deployment records of them: those that are not the first alone, by the same names."""
        return {name: str(each) for name, each in self.by_name.items() if not each.is_first}
