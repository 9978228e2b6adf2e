"""The generations of certificate authorities: which one signs, and which ones are trusted."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from blueprint.stackfile.values import Strict

KEY = "quorate:certificates"
Generation = Annotated[int, Field(ge=1, le=1000)]


class Generations(Strict):
    """The generations of an authority. The first is 1; each is valid five years longer than the one before."""

    uses: Annotated[Generation, Field(description="the generation that signs all certificates of this authority")] = 1
    trusts: Annotated[
        tuple[Generation, ...],
        Field(
            min_length=1,
            max_length=2,
            description="the generations whose certificates are accepted; two while one replaces the other",
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
    """The authorities whose generations a stack sets."""

    etcd: Annotated[Generations, Field(description="the authority of etcd's members and clients")] = Generations()
