from policy.rules.secrets import no_clear_secrets
from tests.policy.cases import case
from tests.policy.tables.commands import local, ssh
from tests.policy.world import UNKNOWN, Given, cloud, machine, stack, workload

clear = no_clear_secrets


def with_environment(name: str, value: object = None, **more: object) -> Given:
    variable = {"name": name, **({} if value is None else {"value": value}), **more}
    return pod_of({"name": "main", "image": "app:1", "env": [variable]})


def pod_of(container: dict[str, object]) -> Given:
    return workload("app").but(spec__template__spec__containers=[container])


def config_map(**data: object) -> Given:
    props = {
        "metadata": {"name": "conf"},
        "data": {name.replace("_conf", ".conf"): text for name, text in data.items()},
    }
    return Given("kubernetes:core/v1:ConfigMap", "conf", props)


def secret(**given: object) -> Given:
    return Given("kubernetes:core/v1:Secret", "creds", {"metadata": {"name": "creds"}, **given})


CASES = (
    case(clear, "an environment without any", with_environment("OS_REGION_NAME", "RegionOne"), passes="app"),
    case(
        clear,
        "a password in the environment",
        with_environment("DB_PASSWORD", "hunter2"),
        fails="app",
        message="clear-text secret: DB_PASSWORD in environment of container main; expected a Pulumi "
        "secret or a reference",
    ),
    case(
        clear,
        "a reference in the environment",
        with_environment("DB_PASSWORD", valueFrom={"secretKeyRef": {"name": "creds", "key": "db"}}),
        passes="app",
    ),
    case(
        clear,
        "an address with a password in the environment",
        with_environment("TRANSPORT", "rabbit://nova:s3cr3t@mq:5672/"),
        fails="app",
        message="a password in an address in TRANSPORT",
    ),
    case(
        clear,
        "a password among the arguments",
        pod_of({"name": "main", "image": "app:1", "args": ["serve", "--admin-password=hunter2"]}),
        fails="app",
        message="a value under admin-password in command of container main",
    ),
    case(
        clear,
        "settings that only name a secret's place",
        config_map(
            app_conf="[database]\npassword = ${DB_PASSWORD}\npassword_file = /etc/p\ntoken: /run/token\n"
            "use_token = true\nconnection = mysql://nova:{{ pw }}@db/nova\nsecretName: creds\nproxy_pass http://api;\n"
        ),
        passes="conf",
    ),
    case(
        clear,
        "a password in the settings",
        config_map(app_conf="[database]\n  password = hunter2\n"),
        fails="conf",
        message="a value under password in app.conf of its data",
    ),
    case(
        clear,
        "an address with a password in the settings",
        config_map(app_conf="connection = mysql+pymysql://nova:hunter2@db/nova\n"),
        fails="conf",
        message="a password in an address",
    ),
    case(
        clear,
        "a machine's own files",
        machine("m1", "master", files={"etcd.env": "ETCD_INITIAL_CLUSTER_TOKEN=quorate\nETCD_KEY_FILE=/etc/k\n"}),
        passes="m1",
    ),
    case(
        clear,
        "a private key among a machine's files",
        machine("m1", "master", files={"ca.key": "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n"}),
        fails="m1",
        message="a private key in file ca.key",
    ),
    case(
        clear,
        "the token that a machine joins with",
        machine("m1", "master", files={"join.yaml": "discovery:\n  token: abcdef.0123456789abcdef\n"}),
        fails="m1",
    ),
    case(
        clear,
        "a command with a password",
        ssh("c", "mysql -uroot -phunter2 -e 'select 1'"),
        local("d", "sshpass -p hunter2 ssh m1 uptime"),
        fails="c d",
    ),
    case(
        clear,
        "a connection with a password",
        Given("command:remote:Command", "c", {"create": "uptime", "connection": {"host": "m1", "password": "hunter2"}}),
        fails="c",
        message="password in connection",
    ),
    case(clear, "a command that reads it from a file", ssh("c", "mysql --password=$(cat /run/pw) -e x"), passes="c"),
    case(
        clear,
        "a Secret that the engine does not know for one",
        secret(stringData={"password": "x"}),
        fails="creds",
        message="clear-text secret: stringData.password, not marked as a Pulumi secret; expected a "
        "Pulumi secret or a reference",
    ),
    case(clear, "a Secret that somebody else fills", secret(), passes="creds"),
    case(clear, "nothing that could hold one", cloud(), stack()),
    case(clear, "an unknown value", with_environment("DB_PASSWORD", UNKNOWN), undecided="app", message="env[0].value"),
    case(clear, "unknown settings", config_map(app_conf=UNKNOWN), undecided="conf"),
)
