"""Tests of which texts count as a secret in clear text, and which do not."""

from __future__ import annotations

import time

import pytest

from text import clear_text

HARMFUL = (
    ("password = hunter2", "a value under password"),
    ("  admin_password: 'hunter2'", "a value under admin_password"),
    ('"client_secret": "abc123def"', "a value under client_secret"),
    ("export PGPASSWORD=hunter2", "a value under PGPASSWORD"),
    ("Environment=ADMIN_TOKEN=abcdef", "a value under ADMIN_TOKEN"),
    ("erlang_cookie = COOKIEMONSTER", "a value under erlang_cookie"),
    ("keystone-manage bootstrap --bootstrap-password hunter2", "a value under bootstrap-password"),
    ("curl https://admin:hunter2@vault/", "a password in an address"),
    ("transport_url=rabbit://nova:hunter2@mq1:5672,nova:hunter2@mq2:5672/", "a password in an address"),
    ("cache = redis://:hunter2@redis:6379/0", "a password in an address"),
    ('{"db": {"user": "nova", "password": "hunter2"}}', "a value under password"),
    ('{"password":"hunter2"}', "a value under password"),
    ("db_pw: hunter2", "a value under db_pw"),
    ("sshpass -p hunter2 ssh host", "a password of sshpass"),
    ("wsrep_sst_auth = sst:hunter2", "the user and password of a state transfer"),
    ("mysqldump -uroot -phunter2 nova", "a password of mysql"),
    ("-----BEGIN OPENSSH PRIVATE KEY-----", "a private key"),
    ("key: AKIAABCDEFGHIJKLMNOP", "an access key"),
    ("apiKey: abcdef", "a value under apiKey"),
    ("private.key = abcdef", "a value under private.key"),
    ("access-key: abcdef", "a value under access-key"),
    ("PA\u017fSWORD=abcdef", "a value under PA\u017fSWORD"),  # a long s, which the pattern takes for an s
)
HARMLESS = (
    "",
    "password =",
    'password: ""',
    '{"password": ""}',
    "password = $DB_PASSWORD",
    "password: ${DB_PASSWORD}",
    "password: {{ db_password }}",
    "password: <your password here>",
    "password_file = /etc/keystone/password",
    "imagePullSecret: regcred",
    "pullSecret: regcred",
    "password: /run/secrets/db",
    "token: none",
    "automountServiceAccountToken: false",
    "ETCD_INITIAL_CLUSTER_TOKEN=quorate",
    "secretName: creds",
    "  secretKeyRef:",
    "tokens = fernet",
    "provider = fernet",
    "proxy_pass http://api;",
    "mysql --password=$(cat /run/pw) -e 'select 1'",
    "mysql -p -e 'select 1'",
    "curl https://vault.example:8200/v1/token",
    "git clone ssh://git@example.org/x",
    "caFile: /etc/etcd/pki/ca.crt",
    "-----BEGIN CERTIFICATE-----",
    "# the password is in the vault",
)


@pytest.mark.parametrize(("line", "kind"), HARMFUL, ids=[line for line, _ in HARMFUL])
def test_it_is_found_and_named_without_its_value(line: str, kind: str) -> None:
    found = list(clear_text.in_text(f"first: line\n{line}\nlast: line\n"))
    assert kind in found
    assert not any("hunter2" in each or "COOKIEMONSTER" in each for each in found)


@pytest.mark.parametrize("line", HARMLESS)
def test_it_is_left_alone(line: str) -> None:
    assert list(clear_text.in_text(f"first: line\n{line}\nlast: line\n")) == []


@pytest.mark.parametrize(
    ("name", "value", "is_secret"),
    [
        ("OS_PASSWORD", "hunter2", True),
        ("AWS_SECRET_ACCESS_KEY", "abc", True),
        ("OS_PASSWORD", "", False),
        ("OS_PASSWORD", '""', False),
        ("OS_PASSWORD", "''", False),
        ("OS_PASSWORD_FILE", "/run/secrets/os", False),
        ("KOLLA_CONFIG_STRATEGY", "COPY_ALWAYS", False),
        ("ETCD_INITIAL_CLUSTER_TOKEN", "quorate", False),
        ("SECRET", "$(OTHER)", False),
    ],
)
def test_a_name_of_its_own(name: str, value: str, is_secret: bool) -> None:
    assert clear_text.under_name(name, value) is is_secret


@pytest.mark.parametrize("piece", ["-", "a", "a.", "x://", "eyJ-", "mysql ", " -p", '{"', " --a", "password"])
def test_no_text_makes_the_search_slow(piece: str) -> None:
    started = time.process_time()
    list(clear_text.in_text(piece * (500_000 // len(piece))))
    assert time.process_time() - started < 5
