"""Service definitions of Fuel-CCP: what a topology of CCP names, and what a stack runs for it.

Source: the 65 definitions and the merged defaults at the last content commit of each fuel-ccp-* repository (2017), and
the then-and-now table of docs/topology.md. A project's record has those that the project stands for;
blueprint/topology/ccp_services.yaml has the others.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict


class CcpService(BaseModel):
    """One of CCP's service definitions, as far as reading a topology needs it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["Deployment", "StatefulSet", "DaemonSet"]
    """As the definition declares it; CCP deployed a DaemonSet as one instance per matching node."""
    host_network: bool = False
    """Whether its processes use the node's own network: two environments cannot both run it on one node."""
    quorum: Literal["etcd", "database", "rpc"] | None = None
    """Its members vote: etcd elects a leader, Galera a primary component, RabbitMQ a majority."""
    needs: tuple[str, ...] = ()
    """Services that it waits for. A job that it waits for is listed under the service that runs the job."""
    needs_local: tuple[str, ...] = ()
    """Services that it waits for on its own node."""
    replaced_by: str | None = None
    """Retired upstream, its work goes on elsewhere: a topology that names it is read, with a warning."""
    use_instead: str | None = None
    """Retired upstream with nothing in its place: a topology that names it is refused, and this says what to use."""
    asked_by: str | None = None
    """The key of `configs` that must be true for a stack to have it."""
    # What a stack runs for it: one of the next six, unless it is retired.
    architecture: str | None = None
    """Its row in the reference architectures (blueprint/architecture)."""
    beside: str | None = None
    """The row on whose nodes its process runs, so that a topology cannot place it elsewhere."""
    companion: bool = False
    """Whether the companion of the same name runs for it, because it has no row."""
    agents: tuple[str, ...] = ()
    """The companions that do its work, each on every node of a stack that runs the row beside which it is planned."""
    not_needed: str | None = None
    """Nothing runs for it, because of this reason: a topology that names it is read, with a warning."""
    not_built: str | None = None
    """Quorate does not build it yet: a stack whose topology places it is refused, and this names the substitute for it.
    `quorate topology` still shows where Fuel-CCP placed it."""
