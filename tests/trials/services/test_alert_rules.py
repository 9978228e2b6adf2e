"""A lost quorum member is an alert: the rendered rules, with metrics of every kind of loss, in the real promtool."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from openstack.monitoring import opensearch_alerts
from tests.trials.services.monitoring import CONFIG, RULES, place_programs
from tests.trials.services.promtool import Metrics, raised, rules
from trials.services.containers import TriedContainer
from trials.services.testbed import ServiceMachine


def test_promtool_accepts_what_is_rendered(tool: ServiceMachine, containers: Mapping[str, TriedContainer]) -> None:
    place_programs(tool, containers["influxdb-grafana/prometheus-server"])
    assert "rules found" in tool.run(["promtool", "check", "config", "--lint=all", "--lint-fatal", CONFIG])
    tool.write("/etc/wrong.yml", tool.run(["cat", RULES]).replace("sum(", "summ("))
    assert "unknown function" in tool.run(["sh", "-c", "promtool check rules /etc/wrong.yml 2>&1"], check=False)


def test_amtool_accepts_what_is_rendered(tool: ServiceMachine, containers: Mapping[str, TriedContainer]) -> None:
    place_programs(tool, containers["nagios/alertmanager"])
    assert "SUCCESS" in tool.run(["amtool", "check-config", "/etc/prometheus/alertmanager.yml"])


def galera(members: int = 3) -> Metrics:
    names = [f"mysqld-{number}" for number in range(members)]
    healthy = Metrics("galera", names).each("mysql_global_status_wsrep_cluster_status", "1x100")
    return healthy.each("mysql_global_status_wsrep_local_state", "4x100")


def rabbitmq(unreachable: str = "0x100") -> Metrics:
    healthy = Metrics("rabbitmq", [f"rabbitmq-{number}" for number in range(3)])
    healthy.each("rabbitmq_identity_info", "1x100", rabbitmq_cluster_permanent_id="a")
    return healthy.each("rabbitmq_unreachable_cluster_peers_count", unreachable)


def etcd() -> Metrics:
    return Metrics("etcd", ["m1", "m2", "m3"]).each("etcd_server_has_leader", "1x100")


def ceph() -> Metrics:
    return Metrics("ceph-mon", [f"ceph-mon-{number}" for number in range(3)]).each("quorate_ceph_takes_part", "1x100")


def opensearch(nodes: str = "3x100") -> Metrics:
    healthy = Metrics("elasticsearch-kibana", [f"elasticsearch-kibana-{number}" for number in range(3)])
    for color in ("green", "yellow", "red"):
        healthy.each(opensearch_alerts.HEALTH, f"{int(color == 'green')}x100", color=color)
    return healthy.each("elasticsearch_cluster_health_number_of_nodes", nodes)


def ovn() -> Metrics:
    return Metrics("ovn-sb", [f"ovn-sb-{number}" for number in range(3)]).each("quorate_ovn_takes_part", "1x100")


@pytest.mark.parametrize(
    "healthy", [galera(3), rabbitmq(), ceph(), opensearch(), etcd(), ovn()], ids=lambda each: each.quorum
)
def test_a_healthy_quorum_raises_nothing(tool: ServiceMachine, healthy: Metrics) -> None:
    assert raised(tool, rules(3), healthy, "20m") == {}


@pytest.mark.parametrize("quorum", [galera, rabbitmq, ceph, opensearch, etcd, ovn])
def test_a_lost_member_of_three_is_critical_after_two_minutes(tool: ServiceMachine, quorum: Any) -> None:
    """One lost member of three is critical, because one more loss would end the majority."""
    metrics = quorum()
    metrics.gone(metrics.members[1])
    count = f"{metrics.quorum}: 2 of 3 members are left, 2 are needed; lost: {metrics.members[1]}"
    named = {"QuorumMemberSilent": ("info", count)}
    assert raised(tool, rules(3), metrics, "6m") == named
    assert raised(tool, rules(3), metrics, "8m") == named | {"QuorumMemberLost": ("critical", count)}


@pytest.mark.parametrize("quorum", [galera, rabbitmq, ceph, opensearch, etcd, ovn])
def test_a_silent_member_is_named_while_it_is_silent_for_a_minute(tool: ServiceMachine, quorum: Any) -> None:
    """The last answer is of 4:45; the next question, of 5:00, has no answer."""
    metrics = quorum()
    metrics.gone(metrics.members[1])
    assert raised(tool, rules(3), metrics, "5m") == {}
    ((name, (severity, summary)),) = raised(tool, rules(3), metrics, "5m15s").items()
    assert (name, severity) == ("QuorumMemberSilent", "info")
    assert summary.endswith(f"lost: {metrics.members[1]}")


@pytest.mark.parametrize("quorum", [galera, rabbitmq, ceph, opensearch, etcd, ovn])
def test_a_lost_majority_is_critical_at_the_second_evaluation(tool: ServiceMachine, quorum: Any) -> None:
    metrics = quorum()
    for member in metrics.members[:2]:
        metrics.gone(member)
    assert raised(tool, rules(3), metrics, "5m") == {}
    found = raised(tool, rules(3), metrics, "5m15s")
    lost = " ".join(metrics.members[:2])
    count = f"{metrics.quorum}: 1 of 3 members are left, 2 are needed; lost: {lost}"
    assert found == {"QuorumLost": ("critical", count), "QuorumMemberSilent": ("info", count)}


def test_of_five_members_the_second_loss_is_critical(tool: ServiceMachine) -> None:
    severities: list[str] = []
    for lost in range(4):
        metrics = galera(5)
        for member in metrics.members[:lost]:
            metrics.gone(member)
        found = raised(tool, rules(5), metrics, "10m")
        found.pop("QuorumMemberSilent", None)
        severities.append(" ".join(f"{name} {severity}" for name, (severity, _) in found.items()))
    assert severities == ["", "QuorumMemberLost warning", "QuorumMemberLost critical", "QuorumLost critical"]


def test_a_member_outside_of_the_primary_component_is_lost(tool: ServiceMachine) -> None:
    """A member outside of the primary component answers but rejects queries, so it counts as lost."""
    metrics = galera(3)
    for line in metrics.lines:
        if line["series"].startswith("mysql_global_status_wsrep_cluster_status") and "mysqld-2" in line["series"]:
            line["values"] = "0x100"
    assert raised(tool, rules(3), metrics, "10m")["QuorumMemberLost"][1].endswith("lost: mysqld-2")


def test_a_member_whose_exporter_answers_without_it_is_lost(tool: ServiceMachine) -> None:
    """mysqld-exporter answers for a member that does not: `up` is 1, and the member's own metrics are missing."""
    metrics = galera(3)
    metrics.lines = [
        line for line in metrics.lines if line["series"].startswith("up{") or "mysqld-1" not in line["series"]
    ]
    assert raised(tool, rules(3), metrics, "10m")["QuorumMemberLost"][1].endswith("lost: mysqld-1")


def test_a_member_that_answers_and_reaches_no_other_is_lost(tool: ServiceMachine) -> None:
    """RabbitMQ with Khepri does not pause: the member stays up on its side of the partition."""
    metrics = rabbitmq("1x100")
    for line in metrics.lines:
        if line["series"].startswith("rabbitmq_unreachable") and "rabbitmq-0" in line["series"]:
            line["values"] = "2x100"
    found = raised(tool, rules(3), metrics, "10m")
    assert set(found) == {"QuorumMemberLost", "QuorumMemberSilent", "RabbitmqPartitioned"}
    assert found["QuorumMemberLost"][1].endswith("lost: rabbitmq-0")


def test_a_database_of_ovn_without_a_leader_is_lost(tool: ServiceMachine) -> None:
    """All members answer, and none knows a leader."""
    metrics = ovn()
    for line in metrics.lines:
        if line["series"].startswith("quorate_ovn_takes_part"):
            line["values"] = "1x19 0x80"
    found = raised(tool, rules(3), metrics, "5m15s")
    assert set(found) == {"QuorumLost", "QuorumMemberSilent"}
    assert found["QuorumLost"][1] == "ovn-sb: 0 of 3 members are left, 2 are needed; lost: ovn-sb-0 ovn-sb-1 ovn-sb-2"


def test_a_member_that_never_becomes_synced_is_noticed(tool: ServiceMachine) -> None:
    metrics = galera(3)
    metrics.lines[-1]["values"] = "3x100"
    assert raised(tool, rules(3), metrics, "9m") == {}
    ((name, (severity, summary)),) = raised(tool, rules(3), metrics, "11m").items()
    assert (name, severity) == ("GaleraMemberNotSynced", "warning")
    assert "mysqld-2 has been in state 3" in summary


def test_a_member_that_stands_aside_is_named(tool: ServiceMachine) -> None:
    """A desynced member still votes, so that none is lost."""
    metrics = galera(3).each("mysql_global_status_wsrep_desync_count", "0x100")
    metrics.lines[-1]["values"] = "0x19 1x80"
    ((name, (severity, summary)),) = raised(tool, rules(3), metrics, "5m").items()
    assert (name, severity) == ("GaleraMemberAside", "info")
    assert "mysqld-2 stands aside" in summary


def test_a_partition_and_an_alarm_are_noticed(tool: ServiceMachine) -> None:
    """Members that all answer, of which one is unreachable for the others; then a full disk."""
    assert set(raised(tool, rules(3), rabbitmq("1x100"), "5m")) == {"RabbitmqPartitioned"}
    full = rabbitmq().each("rabbitmq_alarms_free_disk_space_watermark", "1x100")
    assert set(raised(tool, rules(3), full, "5m")) == {"RabbitmqAlarm"}


def test_separate_clusters_are_noticed(tool: ServiceMachine) -> None:
    metrics = rabbitmq()
    line = next(each for each in metrics.lines if each["series"].startswith("rabbitmq_identity_info"))
    line["series"] = line["series"].replace('permanent_id="a"', 'permanent_id="b"')
    assert set(raised(tool, rules(3), metrics, "5m")) == {"RabbitmqSeparateClusters"}


def test_an_alarm_of_etcd_is_noticed_within_a_minute(tool: ServiceMachine) -> None:
    """Each member reports the alarm of one, with the labels that etcd 3.6 gives it (etcd_debugging_server_alarms)."""
    alarm = {"server_id": "de2e8d9cd8b0d0bc", "alarm_type": "NOSPACE"}
    metrics = etcd().each("etcd_debugging_server_alarms", "0x19 1x80", **alarm)
    assert raised(tool, rules(3), metrics, "4m45s") == {}
    assert raised(tool, rules(3), metrics, "5m15s") == {
        "EtcdAlarm": ("critical", "etcd: alarm NOSPACE: etcd refuses writes")
    }


def test_a_database_near_its_quota_is_noticed_before_the_alarm(tool: ServiceMachine) -> None:
    metrics = etcd().each("etcd_server_quota_backend_bytes", "8589934592x100")
    metrics.each("etcd_mvcc_db_total_size_in_bytes", "6700000000x100")
    assert raised(tool, rules(3), metrics, "12m") == {}
    metrics.lines[-1]["values"] = "7000000000x100"
    ((name, (severity, summary)),) = raised(tool, rules(3), metrics, "12m").items()
    assert (name, severity) == ("EtcdDatabaseNearQuota", "warning")
    assert "database of m3 has 81.49% of its quota" in summary


def test_a_member_of_etcd_that_does_not_apply_is_noticed(tool: ServiceMachine) -> None:
    metrics = etcd().each("etcd_server_proposals_committed_total", "1000000+500x100")
    metrics.each("etcd_server_proposals_applied_total", "1000000+500x100")
    assert raised(tool, rules(3), metrics, "12m") == {}
    metrics.lines[-1]["values"] = "1000000x100"
    ((name, (severity, summary)),) = raised(tool, rules(3), metrics, "12m").items()
    assert (name, severity) == ("EtcdMemberBehind", "critical")
    assert "m3 has not applied 24000 entries" in summary


def test_members_of_etcd_that_are_not_in_the_stack_are_named(tool: ServiceMachine) -> None:
    """Not one that was removed, which etcd tells as 0 from then on."""
    metrics = etcd()
    for peer, known in {"a": "1x100", "b": "1x100", "c": "1x100", "removed": "0x100"}.items():
        metrics.each("etcd_network_known_peers", known, Local="self", Remote=peer)
    assert raised(tool, rules(3), metrics, "20m") == {}
    metrics.each("etcd_network_known_peers", "0x19 1x80", Local="self", Remote="foreign")
    assert raised(tool, rules(3), metrics, "19m") == {}
    said = "etcd: its own list has 4 members, the stack 3: quorate status names the others"
    assert raised(tool, rules(3), metrics, "21m") == {"EtcdMembersDiffer": ("warning", said)}


def test_a_slow_disk_of_a_member_of_etcd_is_named(tool: ServiceMachine) -> None:
    """Of 1000 syncs in 15 s, 5 and then 50 take longer than 64 ms."""
    summary = "etcd: m2 takes 115.2ms to sync its log"
    said = {"EtcdSyncSlow": ("info", summary), "EtcdDiskSlow": ("warning", summary)}
    for slow, named in ((5, {}), (50, said)):
        metrics = etcd()
        for member in metrics.members:
            for edge, count in {"0.064": 1000 - slow * (member == "m2"), "0.128": 1000, "+Inf": 1000}.items():
                metrics.one(member, "etcd_disk_wal_fsync_duration_seconds_bucket", f"0+{count}x100", le=edge)
        assert raised(tool, rules(3), metrics, "10m") == named


def test_a_disk_of_etcd_that_becomes_slow_is_named_within_a_minute(tool: ServiceMachine) -> None:
    """1000 fast syncs in 15 s, and from 5:00 on 5 that are slow: for a rate over minutes these are too few."""
    metrics = etcd()
    for edge, slow in {"0.064": "19000x80", "0.128": "19005+5x80", "+Inf": "19005+5x80"}.items():
        metrics.one("m2", "etcd_disk_wal_fsync_duration_seconds_bucket", f"0+1000x19 {slow}", le=edge)
    assert raised(tool, rules(3), metrics, "5m15s") == {}
    ((name, (severity, summary)),) = raised(tool, rules(3), metrics, "5m45s").items()
    assert (name, severity) == ("EtcdSyncSlow", "info")
    assert summary.startswith("etcd: m2 takes 127")


@pytest.mark.parametrize(
    ("failures", "named"), [("0x19 2x4 2x80", set[str]()), ("0x19 3+3x3 12x80", {"NameServersSilent"})]
)
def test_name_servers_that_do_not_answer_are_named(tool: ServiceMachine, failures: str, named: set[str]) -> None:
    """3 lookups in 15 s. Not while one of them succeeds: a packet was lost. The alert ends with the first answer."""
    silent, other = (f"influxdb-grafana-{number}" for number in range(2))
    metrics = Metrics("prometheus", [silent, other]).each("prometheus_sd_dns_lookups_total", "0+3x100")
    metrics.one(silent, "prometheus_sd_dns_lookup_failures_total", failures)
    metrics.one(other, "prometheus_sd_dns_lookup_failures_total", "0x100")
    assert raised(tool, rules(3), metrics, "5m", "nodes") == {}
    said = raised(tool, rules(3), metrics, "5m15s", "nodes")
    assert set(said) == named
    assert all(severity == "critical" for severity, _ in said.values())
    assert all(text.startswith(f"{silent}: its name servers do not answer") for _, text in said.values())
    assert raised(tool, rules(3), metrics, "6m", "nodes") == {}


def test_writers_that_wait_for_a_slow_member_are_noticed(tool: ServiceMachine) -> None:
    """15 s are 1.5e10 ns: of them, 20 % and then 60 %."""
    name = "mysql_global_status_wsrep_flow_control_paused_ns"
    assert raised(tool, rules(3), galera(3).each(name, "0+3000000000x100"), "10m") == {}
    ((name, (severity, summary)),) = raised(tool, rules(3), galera(3).each(name, "0+9000000000x100"), "10m").items()
    assert (name, severity) == ("GaleraPausesWriters", "warning")
    assert "paused for 60% of the last 2 minutes" in summary


def test_a_clock_that_differs_from_most_is_noticed(tool: ServiceMachine) -> None:
    """The time of promtool begins at 0. All clocks an hour ahead are Prometheus' own clock that is behind."""
    nodes = [f"10.0.0.{number}:9100" for number in range(5)]
    metrics = Metrics("node", nodes).each("node_time_seconds", "3600+15x100")
    assert raised(tool, rules(3), metrics, "12m", "nodes") == {}
    for other in ("3595", "3605"):
        metrics.lines[-1]["values"] = f"{other}+15x100"
        ((name, (severity, summary)),) = raised(tool, rules(3), metrics, "12m", "nodes").items()
        assert (name, severity) == ("ClockDiffers", "warning")
        assert summary.startswith("10.0.0.4:9100: its clock differs by 5s from most nodes")


def test_a_learner_of_etcd_is_no_member(tool: ServiceMachine) -> None:
    """It knows the leader and has no vote."""
    metrics = etcd().each("etcd_server_is_learner", "0x100")
    assert raised(tool, rules(3), metrics, "10m") == {}
    metrics.lines[-1]["values"] = "1x100"
    assert raised(tool, rules(3), metrics, "10m")["QuorumMemberLost"][1].endswith("lost: m3")


def test_members_of_galera_in_a_view_that_is_over_are_noticed(tool: ServiceMachine) -> None:
    """Not one outside of the primary component, which is lost: its view has the greatest number."""
    metrics = galera(3).each("mysql_global_status_wsrep_cluster_conf_id", "7x100")
    assert raised(tool, rules(3), metrics, "10m") == {}
    metrics.lines[-1]["values"] = "6x100"
    said = "galera: primary members are in 2 views of the cluster, expected one"
    assert raised(tool, rules(3), metrics, "10m") == {"GaleraViewsDiffer": ("critical", said)}
    (status,) = [
        line for line in metrics.lines if "wsrep_cluster_status" in line["series"] and "mysqld-2" in line["series"]
    ]
    status["values"] = "0x100"
    assert "GaleraViewsDiffer" not in raised(tool, rules(3), metrics, "10m")


@pytest.mark.parametrize(
    ("quorum", "metric", "label"),
    [(etcd, "etcd_server_version", "server_version"), (rabbitmq, "rabbitmq_build_info", "rabbitmq_version")],
)
def test_an_upgrade_that_was_not_ended_is_noticed(tool: ServiceMachine, quorum: Any, metric: str, label: str) -> None:
    metrics: Metrics = quorum()
    for line in metrics.lines:
        line["values"] = line["values"].replace("x100", "x1000")
    for member, version in zip(metrics.members, ("3.6.1", "3.6.1", "3.6.2"), strict=True):
        metrics.one(member, metric, "1x1000", **{label: version})
    assert raised(tool, rules(3), metrics, "119m") == {}
    said = f"{metrics.quorum}: the members have 2 versions: 3.6.1 3.6.2"
    assert raised(tool, rules(3), metrics, "121m") == {"VersionsDiffer": ("warning", said)}
    metrics.lines[-1]["series"] = metrics.lines[-1]["series"].replace("3.6.2", "3.6.1")
    assert raised(tool, rules(3), metrics, "121m") == {}


def test_apis_that_fail_are_named(tool: ServiceMachine) -> None:
    """Each by its name: promtool would report a duplicate of the alert otherwise. An agent is no API."""
    metrics = Metrics("openstack", ["exporter"]).each("openstack_nova_agent_state", "0x100", service="nova-conductor")
    for service in ("nova", "object_store"):
        metrics.each(f"openstack_{service}_up", "1x19 0x80")
    metrics.each("openstack_glance_up", "1x100")
    assert raised(tool, rules(3), metrics, "9m", "agents") == {}
    ((name, (severity, summary)),) = raised(tool, rules(3), metrics, "11m", "agents").items()
    assert (name, severity) == ("ApiFails", "critical")
    assert summary == "object_store: requests of openstack-exporter to its API fail"


def test_an_agent_without_heartbeats_is_named(tool: ServiceMachine) -> None:
    """Not a disabled one, and not the record of a former pod, as conductors and schedulers leave them."""
    up = {"nova": "nova-compute", "neutron": "neutron-openvswitch-agent", "cinder": "cinder-volume"}
    state = {"nova": "enabled", "neutron": "up", "cinder": "enabled"}
    for silent, service in up.items():
        metrics = Metrics("openstack", ["exporter"])
        for project, agent in up.items():
            values = "1x19 0x80" if project == silent else "1x100"
            labels = {"service": agent, "hostname": "cmp1", "adminState": state[project]}
            metrics.one("exporter", f"openstack_{project}_agent_state", values, **labels)
        disabled = {"service": "nova-compute", "hostname": "cmp2", "adminState": "disabled"}
        metrics.one("exporter", "openstack_nova_agent_state", "0x100", **disabled)
        former = {"service": "nova-conductor", "hostname": "nova-conductor-abc", "adminState": "enabled"}
        metrics.one("exporter", "openstack_nova_agent_state", "0x100", **former)
        said = f"{service} on cmp1 sends no heartbeat"
        late = {"AgentLate": ("info", said)}
        assert raised(tool, rules(3), metrics, "4m45s", "agents") == {}
        assert raised(tool, rules(3), metrics, "5m", "agents") == late
        assert raised(tool, rules(3), metrics, "9m", "agents") == late
        assert raised(tool, rules(3), metrics, "11m", "agents") == late | {"AgentSilent": ("warning", said)}
