"""A JSON web token is no finding where it was issued, and where it is for; anywhere else it is one."""

import json
from base64 import urlsafe_b64encode
from typing import Any

import pytest

from headgate.detectors.assess import EmbeddedModel, assess
from headgate.detectors.token_audience import belongs_to

_HOST = "api.northwind.example"
"""Its name is none of a server that signs in."""


def _call(host: str, body: Any, scheme: str = "https", path: str = "/oauth/token", **parts: Any) -> Any:
    http = {"method": "POST", "scheme": scheme, "host": host, "path": path, "query": {}, **parts}
    return {"http": http, "body": body}


def _token(claims: Any) -> str:
    head, body = (
        urlsafe_b64encode(json.dumps(one).encode()).decode().rstrip("=") for one in ({"alg": "RS256"}, claims)
    )
    return f"{head}.{body}.4fQ9xZr7Lm2Wv8Kc1Tn6Yb3Hs5Jd0Pq9Lm2Wv8Kc1Tn6Yb3H"


@pytest.mark.parametrize(
    ("claims", "belongs"),
    [
        ({"iss": f"https://{_HOST}/realms/main"}, True),
        ({"iss": "web", "aud": f"https://{_HOST}:8443/token"}, True),
        ({"iss": "web", "aud": ["api", f"https://{_HOST}"]}, True),
        ({"iss": "https://northwind.example"}, False),
        ({"aud": ["https://example", "https://northwind.example"]}, False),
        ({"iss": "https://other.northwind.example"}, False),
        ({"iss": "https://example"}, False),
        ({"iss": "web"}, False),
        ({"sub": f"https://{_HOST}"}, False),
        ({"iss": f"http://{_HOST}"}, False),
        ({"iss": _HOST, "aud": 7}, False),
        ({"iss": f"https://{_HOST}.out.example"}, False),
        ({"iss": f"https://out.example/{_HOST}"}, False),
        ({"iss": "https://[", "aud": None}, False),
    ],
)
def test_a_token_belongs_where_its_claims_say(claims: Any, belongs: bool) -> None:
    token = _token(claims)
    body = {"grant_type": ["client_credentials"], "client_assertion": [token], "scope": ["accounts"]}

    assert belongs_to(token, _HOST) is belongs
    assert bool(assess(EmbeddedModel.SECRETS, _call(_HOST, body)).issues) is not belongs
    assert assess(EmbeddedModel.SECRETS, _call("other.example", body)).issues
    assert assess(EmbeddedModel.SECRETS, _call(_HOST, body, "http")).issues


@pytest.mark.parametrize(
    "token",
    ["", "a.b", _token([f"https://{_HOST}"]), "a.b.c", "a.!!!.c", f"a.{urlsafe_b64encode(b'{').decode()}.c", "a.é.c"],
)
def test_what_cannot_be_read_belongs_nowhere(token: str) -> None:
    assert not belongs_to(token, _HOST)


def test_a_token_that_is_no_finding_hides_no_other_one() -> None:
    body = {
        "client_assertion": _token({"iss": f"https://{_HOST}"}),
        "scope": "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",
    }

    assert assess(EmbeddedModel.SECRETS, _call(_HOST, body)).issues == ("github_token",)


@pytest.mark.parametrize("name", ["body", "note", "token_of_a_user", "text"])
def test_at_the_same_host_a_token_is_a_finding_where_others_read(name: str) -> None:
    token = _token({"iss": f"https://{_HOST}"})

    assert assess(EmbeddedModel.SECRETS, _call(_HOST, {name: token})).issues
    assert assess(EmbeddedModel.SECRETS, _call(_HOST, {"token": f"{token} of Ada"})).issues
    assert not assess(EmbeddedModel.SECRETS, _call(_HOST, {"token": token})).issues


_ENDPOINTS = ["/token", "/oauth/token/", "/realms/main/protocol/openid-connect/token/introspect", "/oauth2/revoke",
              "/session/v1/login-request", "/v1/auth/jwt/login", "/as/par.oauth2", "/ext/par/request"]  # fmt: skip


@pytest.mark.parametrize("path", _ENDPOINTS)
def test_a_token_goes_back_to_endpoints_that_take_tokens(path: str) -> None:
    body = {"token": [_token({"iss": f"https://{_HOST}"})], "token_type_hint": ["access_token"], "client_id": ["web"]}

    assert not assess(EmbeddedModel.SECRETS, _call(_HOST, body, path=path)).issues
    for method in ("PUT", "PATCH", "GET"):
        assert assess(EmbeddedModel.SECRETS, _call(_HOST, body, path=path, method=method)).issues
    assert assess(EmbeddedModel.SECRETS, _call(_HOST, body, path=f"{path.rstrip('/')}s/7/hooks")).issues
    assert assess(EmbeddedModel.SECRETS, _call(_HOST, body, path=path, query={"url": ["https://out.example"]})).issues


@pytest.mark.parametrize(
    "more",
    [
        {"url": "https://out.example/"},
        {"branch": "main", "content": "x"},
        {"scope": "of the bank " * 40},
        {"scope": ["a", "b"]},
        {"options": {"url": True}},
        {"params": {"scope": "a"}},
    ],
)
def test_with_anything_else_a_token_does_not_go_back(more: Any) -> None:
    token = _token({"iss": f"https://{_HOST}"})

    assert assess(EmbeddedModel.SECRETS, _call(_HOST, {"token": token, **more})).issues


@pytest.mark.parametrize(
    ("host", "path", "method", "body"),
    [
        ("gitlab.com", "/api/v4/projects/1/hooks", "POST", {"url": "https://out.example/"}),
        ("gitlab.com", "/api/v4/projects/1/hooks", "POST", {}),
        ("graph.microsoft.com", "/v1.0/drives/b7/root:/x.json:/content", "PUT", {}),
        ("graph.microsoft.com", "/v1.0/drives/b7/root:/token", "PUT", {}),
        ("gitlab.com", "/api/v4/projects/1/repository/files/token", "POST", {"branch": "main", "content": "x"}),
    ],
)
def test_a_host_that_many_share_takes_no_tokens_of_others(host: str, path: str, method: str, body: Any) -> None:
    for claims in ({"iss": f"https://{host}"}, {"aud": f"https://{host}"}):
        body = {**body, "token": _token(claims)}
        assert assess(EmbeddedModel.SECRETS, _call(host, body, path=path, method=method)).issues
