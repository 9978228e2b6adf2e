"""Times of probes that a stack file gives to the containers of a service, in Kubernetes' own form."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from blueprint.openstack.projects.process_definition import Connection, ProcessDefinition
from blueprint.stackfile.values import Strict


class ProbeTimes(Strict):
    """Times of one kind of probe; what is left out is computed (components/openstack/probes.py)."""

    period_seconds: Annotated[int | None, Field(ge=1, le=3600, description="seconds from one probe to the next")] = None
    timeout_seconds: Annotated[int | None, Field(ge=1, le=3600, description="seconds until no answer is a failure")] = (
        None
    )
    failure_threshold: Annotated[
        int | None, Field(ge=1, le=1000, description="failures one after the other until kubelet acts")
    ] = None


class Probes(Strict):
    """Times of the probes of all containers of a service's pods."""

    readiness: Annotated[ProbeTimes, Field(description="whether the Service sends clients to the pod")] = ProbeTimes()
    liveness: Annotated[ProbeTimes, Field(description="whether kubelet restarts the container")] = ProbeTimes()
    startup: Annotated[
        ProbeTimes, Field(description="how long a container may take to start before kubelet restarts it")
    ] = ProbeTimes()

    def without_effect(self, process: ProcessDefinition) -> Iterator[tuple[str, str]]:
        """Yields a key and a message for each kind of probe that no container of the process has."""
        has_liveness = any(each.alive for each in process.containers)
        has_startup = has_liveness or any(isinstance(each.ready, Connection) for each in process.containers)
        for kind, exists in (("liveness", has_liveness), ("startup", has_startup)):
            if getattr(self, kind).model_fields_set and not exists:
                yield kind, f"has no effect: no container of {process.name} has a {kind} probe; remove it"
