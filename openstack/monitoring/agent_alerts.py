"""Alerts for what openstack-exporter learns of OpenStack's APIs: agents without heartbeats, and requests that fail."""

from __future__ import annotations

from collections.abc import Iterator

from openstack.monitoring.rules import Rule, alert


def rules() -> Iterator[Rule]:
    """Yields the alerts for agents and APIs."""
    yield from _silent_agents()
    yield _failing_api()


def _silent_agents() -> Iterator[Rule]:
    """Yields the alerts for agents that their project calls down, as openstack-exporter asks it.

    Their projects wait for 60 s (Nova, Cinder) or 75 s (Neutron), and a scrape is every 2 minutes. Only agents that
    stay on their node, or are named after their storage: schedulers and conductors move, and leave a silent record on
    each node. An agent that an operator has disabled is none.
    """
    own = {
        "nova": 'service="nova-compute", adminState="enabled"',
        "neutron": 'adminState="up"',
        "cinder": 'service="cinder-volume", adminState="enabled"',
    }
    silent = " or ".join(
        f'openstack_{project}_agent_state{{job="openstack", {labels}}} == 0' for project, labels in own.items()
    )
    summary = "{{ $labels.service }} on {{ $labels.hostname }} sends no heartbeat"
    # Agents reconnect for a while after a broker's restart.
    yield alert("AgentLate", silent, "0s", "info", summary)
    yield alert("AgentSilent", silent, "5m", "warning", summary)


def _failing_api() -> Rule:
    """Returns the alert for a service whose API does not answer openstack-exporter's requests as it should."""
    up = '{__name__=~"openstack_[a-z0-9_]+_up", job="openstack"} == 0'
    # Without a label for the service, those of two services would be the same alert.
    named = f'label_replace({up}, "service", "$1", "__name__", "openstack_(.+)_up")'
    summary = "{{ $labels.service }}: requests of openstack-exporter to its API fail"
    return alert("ApiFails", named, "5m", "critical", summary)
