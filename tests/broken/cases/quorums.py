"""Quorums: their sizes, their members' places, the budgets that keep their majority, and rollouts."""

from collections.abc import Callable

from tests.broken.broken import Broken, Props, apart_terms, replicas


def _may_share_a_server(props: Props) -> None:
    terms = apart_terms(props)
    terms[:] = [term for term in terms if term["topologyKey"] != "quorate.io/server"]


def _other_pods(props: Props) -> None:
    props["spec"]["selector"]["matchLabels"] = {"app": "nothing-has-this"}


def _budget(field: str, value: int) -> Callable[[Props], None]:
    def break_(props: Props) -> None:
        for key in ("minAvailable", "maxUnavailable"):
            props["spec"].pop(key, None)
        props["spec"][field] = value

    return break_


def _surge(props: Props) -> None:
    props["spec"]["strategy"]["rollingUpdate"] = {"maxSurge": 1, "maxUnavailable": 0}


CASES = [
    Broken(
        "Galera of two",
        (("StatefulSet", "cloud-mysqld", replicas(2)),),
        {
            "instances-match-row": {"cloud-mysqld"},
            "galera-size": {"cloud-mysqld"},
            "budget-keeps-majority": {"cloud-mysqld"},
        },
    ),
    Broken(
        "RabbitMQ of four",
        (("StatefulSet", "cloud-rabbitmq", replicas(4)),),
        {
            "instances-match-row": {"cloud-rabbitmq"},
            "rabbitmq-size": {"cloud-rabbitmq"},
            "replicas-fit-nodes": {"cloud-rabbitmq"},
            "one-member-per-server": {"cloud-rabbitmq"},
        },
    ),
    Broken(
        "two members may share a server",
        (("StatefulSet", "cloud-mysqld", _may_share_a_server),),
        {"one-member-per-server": {"cloud-mysqld"}},
    ),
    Broken(
        "a budget that selects nothing",
        (("PodDisruptionBudget", "cloud-rabbitmq", _other_pods),),
        {"quorum-has-budget": {"cloud-rabbitmq"}, "budget-guards-one-workload": {"cloud-rabbitmq"}},
    ),
    Broken(
        "a budget that gives the majority away",
        (("PodDisruptionBudget", "cloud-mysqld", _budget("maxUnavailable", 2)),),
        {"budget-keeps-majority": {"cloud-mysqld"}},
    ),
    Broken(
        "a budget that no drain can pass",
        (("PodDisruptionBudget", "cloud-ceph-mon", _budget("minAvailable", 3)),),
        {"drain-can-finish": {"cloud-ceph-mon"}},
    ),
    Broken(
        "a surge into a full pool",
        (("Deployment", "cloud-keystone", _surge),),
        {"rollout-can-finish": {"cloud-keystone"}},
    ),
]
