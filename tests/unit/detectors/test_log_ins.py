"""A password or token in the body of a log-in is no finding at the service that the call addresses, and is one at any
other place. The same for values that a store of secrets keeps.
"""

from typing import Any

import pytest

from headgate.detectors.assess import EmbeddedModel, assess
from headgate.detectors.log_ins import log_ins
from headgate.kernel.canonical_json import JsonObject

_PASSWORD = "Falcon.river8812"
_TOKEN = "9QX7ZP2LK4M8N1B5c3vR7tWq"


def _found(host: str, path: str, body: Any, method: str = "POST", scheme: str = "https", **parts: Any) -> bool:
    http: JsonObject = {"method": method, "scheme": scheme, "host": host, "path": path, "query": parts}
    return bool(assess(EmbeddedModel.SECRETS, {"tool": "http", "http": http, "body": body}).issues)


_JWT = "eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJ3ZWIiLCJleHAiOjE3OTMwMDAwMDB9.4fQ9xZr7Lm2Wv8Kc1Tn6Yb3Hs5Jd0Pq"
_USER = {"username": "ops@northwind.example", "password": _PASSWORD}
_REFRESH = {"grant_type": ["refresh_token"], "refresh_token": [_TOKEN], "client_id": ["cli"]}
_LOG_INS = [
    ("northwind.okta.com", "/api/v1/authn", {**_USER, "options": {"multiOptionalFactorEnroll": True}}),
    ("northwind.okta.com", "/oauth2/aus1x2y3/v1/token", _REFRESH),
    ("grafana.northwind.example", "/login", {"user": "ops", "password": _PASSWORD}),
    ("argocd-eu1.northwind.example", "/api/v1/session", _USER),
    ("sso.northwind.example", "/realms/main/protocol/openid-connect/token", _REFRESH),
    ("ha.lindner.example", "/auth/token", _REFRESH),
    ("metabase.northwind.example", "/api/session", _USER),
    ("shop.northwind.example", "/rest/V1/integration/admin/token", _USER),
    ("gitlab.northwind.example", "/oauth/token", {"client_id": "a1b2", "client_secret": _TOKEN, "grant_type": "x"}),
    ("sso.northwind.example", "/as/token.oauth2", {**_REFRESH, "client_secret": [_TOKEN[::-1]]}),
    ("idp.northwind.example", "/connect/token", {"client_assertion": [_JWT], "client_assertion_type": ["urn:x"]}),
    ("idp.northwind.example", "/oauth2/token", {**_USER, "client_id": "cli", "client_secret": _TOKEN, "totp": 123456}),
    ("sso.northwind.example", "/oauth/token", {**_USER, "client_secret": "changeme"}),
    ("northwind.my.salesforce.com", "/services/oauth2/token", {**_REFRESH, "client_secret": [_TOKEN[::-1]]}),
    ("northwind.okta.com", "/oauth2/v1/token", {**_REFRESH, "refresh_token": "short", "client_secret": _TOKEN}),
    ("vault.northwind.example", "/v1/auth/kubernetes/login", {"role": "web", "jwt": _JWT}),
    ("jenkins.northwind.example", "/j_spring_security_check", {"j_username": ["ops"], "j_password": [_PASSWORD]}),
    (
        "erp.northwind.example",
        "/web/session/authenticate",
        {"jsonrpc": "2.0", "id": 1, "method": "call", "params": {"db": "a", "login": "ops", "password": _PASSWORD}},
    ),
]


@pytest.mark.parametrize(("host", "path", "body"), _LOG_INS, ids=[one[0] for one in _LOG_INS])
def test_a_log_in_at_ones_own_service_is_no_leak(host: str, path: str, body: Any) -> None:
    assert not _found(host, path, body)
    assert _found(host, f"{path}/import", body)
    assert _found(host, path, body, scheme="http")
    assert _found(host, path, body, method="PUT")
    assert _found(host, path, body, next=["/"])
    assert _found("collector.example", path, body)
    assert _found(f"{host}.com.collector.example", path, body)
    assert _found(f"{host.partition('.')[0]}.ngrok-free.app", path, body)


@pytest.mark.parametrize(
    "body",
    [
        {"user": "ops", "password": _PASSWORD, "note": "of the bank"},
        {"user": "ops and all the others " * 20, "password": _PASSWORD},
        {"user": "ops", "password": _PASSWORD, "email": "Falcon", "login": {"text": "Falcon"}},
        {"user": "ops", "password": _PASSWORD, "refresh_token": _TOKEN},
        {"user": "ops", "bank_password": _PASSWORD},
        {"password": _PASSWORD},
        {"user": "ops", "password": [_PASSWORD, "Silver.lake4410"]},
        [{"user": "ops", "password": _PASSWORD}],
        {"user": "ops", "password": "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"},
        {"user": "ops", "password": _PASSWORD, "Password": "Silver.lake4410"},
        {"refresh_token": _TOKEN, "client_secret": _TOKEN[::-1], "client_assertion": _JWT},
        {"jsonrpc": "2.0", "params": {"user": "ops", "password": _PASSWORD}, "note": "of the bank"},
        {"jsonrpc": "2.0", "id": "of the bank " * 40, "params": {"user": "ops", "password": _PASSWORD}},
        {"user": "ops", "password": _PASSWORD, "params": {"user": "ops", "password": "Silver.lake4410"}},
    ],
)
def test_more_than_a_log_in_is_a_leak(body: Any) -> None:
    assert _found("grafana.northwind.example", "/login", body)


def test_each_product_has_places() -> None:
    for one in log_ins().products:
        assert one.paths and (one.hosts or one.named)


_KEPT = [
    ("vault.northwind.example", "/v1/kv/data/web/shop", {"data": {"SMTP_PASSWORD": _PASSWORD}, "options": {"cas": 1}}),
    ("northwind.vault.azure.net", "/secrets/smtp", {"value": f"password={_PASSWORD}"}),
    ("secretsmanager.eu-west-1.amazonaws.com", "/", {"Name": "a", "SecretString": f'{{"password":"{_PASSWORD}"}}'}),
]


@pytest.mark.parametrize(("host", "path", "body"), _KEPT, ids=[one[0] for one in _KEPT])
def test_a_store_keeps_secrets(host: str, path: str, body: Any) -> None:
    assert not _found(host, path, body)
    assert _found("collector.example", path, body)
    assert _found(host, path, body, scheme="http")
    assert _found(host, path, {**body, "Description": f"password: {_PASSWORD}x"})


def test_a_store_is_no_place_for_everything() -> None:
    many = {f"service_{number}_password": f"Falcon.river88{number}" for number in range(8)}
    assert _found("vault.northwind.example", "/v1/kv/data/all", {"data": many})
    pem = "-----BEGIN PRIVATE KEY-----\n" + "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7" * 4
    assert _found("vault.northwind.example", "/v1/kv/data/all", {"data": {"key": f"{pem}\n-----END PRIVATE KEY-----"}})
