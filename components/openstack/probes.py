"""Probes of a process's containers: what kubelet asks, how often, and after how many failures it acts.

The stack file may set the times of a service's probes; what it leaves out is computed here.
"""

from __future__ import annotations

from blueprint.openstack.projects.process_definition import CommandProbe, Connection, Container, Http, Probe, Tcp
from blueprint.stackfile.probe_times import ProbeTimes
from components.kubernetes_api import core

PERIOD = 10
"""Seconds between two probes, Kubernetes' default."""
COMMAND_PERIOD = 30
"""Seconds between two commands of a readiness or startup probe. Each takes CPU of the container runtime too: 0.1 s or
more, and when the power of a server is back, those of all its containers compete with their start. Project figure."""
SLOW_COMMAND_PERIOD = 60
"""The same for liveness probes, and for the readiness of processes that no Service sends clients to. Project figure."""
CONNECT = 11
"""Minutes that a process without an API may take to connect for the first time before kubelet restarts it. An agent of
Neutron was seen to hang in its start for good. If RabbitMQ is away for long, kubelet's delay between two restarts stays
at 10 s, because these are more than 10 minutes (twice its MaxContainerBackOff). Project figure."""
STALL = 2
"""Minutes that a member of a quorum may not respond before kubelet restarts it. On a host that stalls, a restarted
member would be missing for longer: it has to recover, and a database to receive what it missed. The default of 30 s
restarted two members of Galera on a host that was short of memory. Project figure."""


def readiness(container: Container, given: ProbeTimes) -> core.ProbeArgs:
    """Returns the probe by which a Service sends clients to the container or not."""
    if isinstance(container.ready, Connection):
        return _probe(container.ready, given, SLOW_COMMAND_PERIOD)
    return _probe(container.ready, given, COMMAND_PERIOD if isinstance(container.ready, CommandProbe) else PERIOD)


def liveness(container: Container, given: ProbeTimes, *, quorum: bool) -> core.ProbeArgs | None:
    """Returns the probe whose failure restarts the container; None for none. `quorum`: whether it is a member."""
    if isinstance(container.alive, CommandProbe):
        return _probe(container.alive, given, SLOW_COMMAND_PERIOD)
    # With another period, a member may stall as long as before, unless the stack file has the number of failures too.
    failures = max(1, STALL * 60 // (given.period_seconds or PERIOD)) if quorum else None
    return _probe(container.alive, given, PERIOD, failures) if container.alive else None


def startup(container: Container, given: ProbeTimes) -> core.ProbeArgs | None:
    """Returns the probe that delays the liveness probe, or that restarts a process which does not connect."""
    if isinstance(container.ready, Connection):
        return _startup(container.ready, given, CONNECT)
    alive = container.alive
    if isinstance(container.ready, Http) and alive == Tcp(container.ready.port):
        # uWSGI accepts connections before it has loaded the API. Without an answer they fill its queue of 100, and then
        # the liveness probe fails.
        alive = container.ready
    return _startup(alive, given, container.patience) if alive else None


def _startup(probe: Probe, given: ProbeTimes, minutes: int) -> core.ProbeArgs:
    period = COMMAND_PERIOD if isinstance(probe, CommandProbe) else PERIOD
    return _probe(probe, given, period, max(1, minutes * 60 // (given.period_seconds or period)))


def _probe(probe: Probe, given: ProbeTimes, period: int, failures: int | None = None) -> core.ProbeArgs:
    timeout = probe.timeout if isinstance(probe, CommandProbe) else 5
    return core.ProbeArgs(
        http_get=core.HTTPGetActionArgs(port=probe.port, path=probe.path) if isinstance(probe, Http) else None,
        exec_=core.ExecActionArgs(command=list(probe.command)) if isinstance(probe, CommandProbe) else None,
        tcp_socket=core.TCPSocketActionArgs(port=probe.port) if isinstance(probe, Tcp) else None,
        period_seconds=given.period_seconds or period,
        timeout_seconds=given.timeout_seconds or timeout,
        failure_threshold=given.failure_threshold or failures,
    )
