"""The issuer of workflows' tokens, and the runner's own door to it.

https://docs.github.com/en/actions/reference/security/oidc (claims, ``ACTIONS_ID_TOKEN_REQUEST_URL`` with ``audience``,
answered with ``value``) and OpenID Connect Discovery 1.0, section 4.
"""

import time
from dataclasses import dataclass, field
from typing import Any

import jwt
from jwt.algorithms import RSAAlgorithm

from tests.integration.admin_api.integrations.fake_github import rsa_key
from tests.integration.outgoing.fake_platform import Answered, Asked, FakePlatform

RUNNER_TOKEN = "runner-token"


@dataclass
class FakeIssuer(FakePlatform):
    """``made``: how many tokens there are; ``claims``: what the runner's next ones say besides."""

    made: int = 0
    claims: dict[str, Any] = field(default_factory=dict)

    def respond(self, asked: Asked) -> Answered:
        match asked.path:
            case "/.well-known/openid-configuration":
                return Answered(200, {"issuer": self.base_url, "jwks_uri": f"{self.base_url}/.well-known/jwks"})
            case "/.well-known/jwks":
                key = RSAAlgorithm.to_jwk(rsa_key("issuer").public_key(), as_dict=True)
                return Answered(200, {"keys": [{**key, "kid": "k1", "use": "sig", "alg": "RS256"}]})
            case "/token":
                if asked.headers.get("authorization") != f"Bearer {RUNNER_TOKEN}":
                    return Answered(401, {"message": "no"})
                return Answered(200, {"value": self.token(aud=asked.query["audience"])})
        return Answered(404, {})

    def token(self, *, header: dict[str, Any] | None = None, key: str = "issuer", **changes: Any) -> str:
        self.made += 1
        now = int(time.time())
        claims: dict[str, Any] = {
            "iss": self.base_url, "aud": "headgate", "sub": "repo:example/shop:environment:production",
            "jti": f"jti-{self.receiver.port}-{self.made}", "iat": now, "nbf": now - 60, "exp": now + 300,
            "repository": "example/shop", "repository_id": "71", "ref": "refs/heads/main",
            "environment": "production", "run_id": "42", "actor": "ada", **self.claims, **changes,
        }  # fmt: skip
        claims = {name: value for name, value in claims.items() if value is not None}
        headers = {"kid": "k1", **(header or {})}
        named = {name: value for name, value in headers.items() if value is not None}
        return jwt.encode(claims, rsa_key(key), algorithm="RS256", headers=named)
