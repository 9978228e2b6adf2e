"""Grafana's files: its settings, its data sources and a dashboard of the quorums.

Data sources and dashboard are files, so that Grafana works while the cloud's database is down. An instance of Grafana
knows only its own sessions, so the Service sends each client to the same instance.
"""

from __future__ import annotations

import json
from typing import Any

from blueprint.openstack.projects.process_definition import ConfigurationFile
from blueprint.openstack.projects.records import own_records
from files.yaml_writer import plain_document
from openstack.config.layers import ConfigFile, Layer, Origin, Secret, TextFile, WrittenFile
from openstack.config.ports import PROMETHEUS
from openstack.config.wiring import Wiring
from openstack.monitoring.alerts import MEMBER, MEMBERS
from openstack.monitoring.quorums import WatchedQuorum, quorums

_RECORD = own_records()["prometheus"]
SETTINGS = _RECORD.file("grafana.ini")
SOURCES = _RECORD.file("prometheus.yaml")
PROVIDER = _RECORD.file("provisioning.yaml")
DASHBOARD = _RECORD.file("quorums.json")
PASSWORD = _RECORD.file("admin-password")
KEY = _RECORD.file("secret-key")

_MANUAL = "https://grafana.com/docs/grafana/latest/setup-grafana/configure-grafana/"


def files(wiring: Wiring, store: str) -> tuple[WrittenFile, ...]:
    """Returns the files of a Grafana instance. `store`: name of the process in the plan that runs Prometheus."""
    return (
        ConfigFile(SETTINGS.name, "ini", (Layer(Origin.PROJECT, _MANUAL, _settings()),)),
        TextFile(SOURCES.name, (plain_document(_sources(wiring, store)),)),
        TextFile(PROVIDER.name, (plain_document(_provider()),)),
        TextFile(DASHBOARD.name, (json.dumps(_dashboard(wiring), indent=1) + "\n",)),
        TextFile(PASSWORD.name, (Secret("grafana/admin"),)),
        TextFile(KEY.name, (Secret("grafana/secret-key"),)),
    )


def _settings() -> dict[str, dict[str, str | int | bool]]:
    return {
        "paths": {"data": "/var/lib/grafana", "provisioning": "/etc/grafana/provisioning"},
        "server": {"http_port": own_records().port("grafana", "grafana")},
        "log": {"mode": "console"},
        "security": {"admin_user": "admin", "admin_password": _content(PASSWORD), "secret_key": _content(KEY)},
        "analytics": {"reporting_enabled": False, "check_for_updates": False, "check_for_plugin_updates": False},
        "dashboards": {"default_home_dashboard_path": DASHBOARD.path},
    }


def _content(file: ConfigurationFile) -> str:
    """Returns the expression that Grafana replaces by the content of a file."""
    return f"$__file{{{file.path}}}"


def _sources(wiring: Wiring, store: str) -> dict[str, Any]:
    """Returns a data source for each instance of Prometheus, because each instance scrapes and stores all metrics."""
    members = [member.partition(".")[0] for member in wiring.members(store)]
    return {
        "apiVersion": 1,
        "datasources": [
            {
                "name": name,
                "uid": name,
                "type": "prometheus",
                "access": "proxy",
                "url": f"http://{address}:{PROMETHEUS}",
                "isDefault": name == members[0],
            }
            for name, address in zip(members, wiring.members(store), strict=True)
        ],
    }


def _provider() -> dict[str, Any]:
    folder = DASHBOARD.path.rpartition("/")[0]
    return {
        "apiVersion": 1,
        "providers": [{"name": "quorate", "type": "file", "options": {"path": folder}}],
    }


def _dashboard(wiring: Wiring) -> dict[str, Any]:
    """Returns the dashboard with a row for each quorum: how many members take part in the quorum, and which."""
    watched = quorums(wiring)
    panels = [panel for row, quorum in enumerate(watched) for panel in _panels(quorum, row)]
    source = {"name": "source", "label": "Prometheus", "type": "datasource", "query": "prometheus"}
    return {
        "uid": "quorums",
        "title": "Quorums",
        "schemaVersion": 39,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": [source]},
        "panels": panels,
    }


def _panels(quorum: WatchedQuorum, row: int) -> tuple[dict[str, Any], dict[str, Any]]:
    steps: list[dict[str, Any]] = [
        {"color": "red", "value": None},
        {"color": "orange", "value": quorum.majority},
        {"color": "green", "value": quorum.size},
    ]
    count: dict[str, Any] = {
        "id": 2 * row + 1,
        "type": "stat",
        "title": f"{quorum.name}: members of {quorum.size}, {quorum.majority} needed",
        "gridPos": {"x": 0, "y": 8 * row, "w": 6, "h": 8},
        "fieldConfig": {"defaults": {"thresholds": {"mode": "absolute", "steps": steps}}, "overrides": []},
    }
    history: dict[str, Any] = {
        "id": 2 * row + 2,
        "type": "state-timeline",
        "title": f"{quorum.name}: which members count",
        "gridPos": {"x": 6, "y": 8 * row, "w": 18, "h": 8},
    }
    return count | _query(MEMBERS, quorum), history | _query(MEMBER, quorum)


def _query(record: str, quorum: WatchedQuorum) -> dict[str, Any]:
    source = {"type": "prometheus", "uid": "${source}"}
    target = {"refId": "A", "expr": f'{record}{{quorum="{quorum.name}"}}', "legendFormat": "{{member}}"}
    return {"datasource": source, "targets": [target | {"datasource": source}]}
