"""GitHub's REST API for what an App asks of it. Every request is checked against GitHub's published OpenAPI description
(``descriptions/github.json``): path, query, body, and that the status answered is one that it names.

https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app (the App's JWT, installation
tokens), https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api and …/using-pagination.
Webhooks: https://docs.github.com/en/webhooks/webhook-events-and-payloads, with the members that are read.
"""

import hashlib
import hmac
import json
import re
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import jsonschema
import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.integration.outgoing.fake_platform import Answered, Asked, FakePlatform

DESCRIPTION = json.loads((Path(__file__).parent / "descriptions" / "github.json").read_text("utf-8"))
APP, SECRET, REPOSITORY, INSTALLATION = "12345", "gh-webhook-secret", "example/shop", 77


@cache
def rsa_key(name: str) -> rsa.RSAPrivateKey:
    """One for each name, made once."""
    return rsa.generate_private_key(65537, 2048)


def pem(name: str = "app") -> str:
    return (
        rsa_key(name)
        .private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
        )
        .decode()
    )


@dataclass
class FakeGitHub(FakePlatform):
    """``reviews``: what rules were answered; ``tokens``: rights by installation token; ``others``: checks of others
    that fill pages before ours."""

    reviews: list[dict[str, Any]] = field(default_factory=list)
    checks: dict[int, dict[str, Any]] = field(default_factory=dict)
    tokens: dict[str, dict[str, Any]] = field(default_factory=dict)
    others: int = 0

    def document(self, agent_id: str, **changes: Any) -> dict[str, Any]:
        return {
            "enabled": True, "base_url": self.base_url, "app_id": APP, "agent_id": agent_id,
            "repositories": ["example/*"], "environments": ["prod*"], "check_pull_requests": True,
            "private_key": pem(), "webhook_secret": SECRET, **changes,
        }  # fmt: skip

    def respond(self, asked: Asked) -> Answered:
        template, described = _described(asked)
        if described.get("requestBody") is not None:
            jsonschema.validate(asked.body, described["requestBody"])
        answered = self._answer(template, asked)
        assert answered.status in (401, 403) or str(answered.status) in described["statuses"], (template, answered)
        return answered

    def _answer(self, template: str, asked: Asked) -> Answered:
        assert asked.headers["accept"] == "application/vnd.github+json"
        assert asked.headers["x-github-api-version"] == "2022-11-28"
        token = asked.headers.get("authorization", "").removeprefix("Bearer ")
        if template.startswith("/app"):
            return self._as_app(template, token, asked)
        if token not in self.tokens:
            return Answered(401, {"message": "Bad credentials"})
        rights, repository = self.tokens[token], "/".join(asked.path.split("/")[2:4])
        if rights["repositories"] != [repository.split("/")[1]]:
            return Answered(403, {"message": "Resource not accessible by integration"})
        needed = "deployments" if "deployment_protection_rule" in template else "checks"
        if rights["permissions"].get(needed) != "write":
            return Answered(403, {"message": "Resource not accessible by integration"})
        if needed == "deployments":
            self.reviews.append({"path": asked.path, **asked.body})
            return Answered(204)
        return self._checks(asked)

    def _as_app(self, template: str, token: str, asked: Asked) -> Answered:
        try:
            claims = jwt.decode(token, rsa_key("app").public_key(), algorithms=["RS256"])
        except jwt.PyJWTError:
            return Answered(401, {"message": "A JSON web token could not be decoded"})
        assert claims["exp"] - claims["iat"] <= 600
        if claims["iss"] != APP:
            return Answered(401, {"message": "'Issuer' claim ('iss') must be an Integer"})
        if template == "/app":
            return Answered(200, {"id": int(APP), "slug": "headgate-gate"})
        if asked.path != f"/app/installations/{INSTALLATION}/access_tokens":
            return Answered(404, {"message": "Not Found"})
        made = f"ghs_{len(self.tokens)}"
        self.tokens[made] = asked.body
        until = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
        return Answered(201, {"token": made, "expires_at": until, "permissions": asked.body["permissions"]})

    def _checks(self, asked: Asked) -> Answered:
        if asked.method == "POST":
            check_id = 1000 + len(self.checks)
            self.checks[check_id] = {"id": check_id, **asked.body}
            return Answered(201, self.checks[check_id])
        if asked.method == "PATCH":
            check = self.checks[int(asked.path.rpartition("/")[2])]
            # GitHub ignores this: https://github.com/Mergifyio/mergify/pull/1989.
            assert check["status"] != "completed" or asked.body["status"] == "completed", "a check cannot be reopened"
            check |= asked.body
            return Answered(200, {})
        page = int(asked.query.get("page", "1"))
        pages: list[list[dict[str, Any]]] = [[{"id": 1, "external_id": "another"}] for _ in range(self.others)]
        sha = asked.path.split("/")[5]
        assert asked.query.get("app_id") == APP
        named = asked.query.get("check_name")
        pages.append([one for one in self.checks.values() if (one["head_sha"], one["name"]) == (sha, named)])
        headers = ()
        if page < len(pages):
            more = urlencode({**asked.query, "page": page + 1})
            headers = (f'Link: <{self.base_url}{asked.path}?{more}>; rel="next"',)
        return Answered(200, {"total_count": sum(map(len, pages)), "check_runs": pages[page - 1]}, headers)

    def shown(self, sha: str, name: str) -> str | None:
        """What a required check of this name reads at this commit: the newest run's status or conclusion
        (https://docs.github.com/en/rest/checks/runs). No older run may be a success that the newest is not."""
        runs = [one for _, one in sorted(self.checks.items()) if (one["head_sha"], one["name"]) == (sha, name)]
        said = [str(one.get("conclusion", one["status"])) for one in runs]
        assert "success" not in said[:-1], said
        return said[-1] if said else None

    def deployment(self, **changes: Any) -> dict[str, Any]:
        return {
            "action": "requested", "environment": "production", "event": "push",
            "deployment_callback_url": f"{self.base_url}/repos/{REPOSITORY}/actions/runs/42/deployment_protection_rule",
            "deployment": {
                "id": 9, "sha": "a" * 40, "ref": "main", "task": "deploy", "creator": {"login": "ada"},
                "updated_at": _instant(),
            },
            "repository": {"full_name": REPOSITORY}, "installation": {"id": INSTALLATION}, "sender": {"login": "ada"},
            **changes,
        }  # fmt: skip

    def pull_request(
        self, action: str = "opened", sha: str = "b" * 40, *, number: int = 7, base: str = "main", **changes: Any
    ) -> dict[str, Any]:
        return {
            "action": action, "number": number,
            "pull_request": {
                "number": number, "title": "Fix\u202e it", "html_url": f"https://github.com/{REPOSITORY}/pull/{number}",
                "user": {"login": "bob"}, "base": {"ref": base}, "updated_at": _instant(),
                "head": {"ref": "fix", "sha": sha, "repo": {"full_name": "bob/shop"}},
            },
            "repository": {"full_name": REPOSITORY}, "installation": {"id": INSTALLATION}, "sender": {"login": "bob"},
            **changes,
        }  # fmt: skip

    def merge_group(
        self, action: str = "checks_requested", sha: str = "c" * 40, *, base: str = "main"
    ) -> dict[str, Any]:
        return {
            "action": action,
            "merge_group": {
                "head_sha": sha, "head_ref": f"refs/heads/gh-readonly-queue/{base}/pr-7-{'a' * 40}",
                "base_sha": "a" * 40, "base_ref": f"refs/heads/{base}",
                "head_commit": {"id": sha, "tree_id": "e" * 40, "message": "Fix it (#7)", "timestamp": _instant()},
            },
            "repository": {"full_name": REPOSITORY}, "installation": {"id": INSTALLATION}, "sender": {"login": "bob"},
        }  # fmt: skip


def sent(event: str, payload: dict[str, Any], *, secret: str = SECRET) -> tuple[bytes, dict[str, str]]:
    """A webhook: its body and headers."""
    body = json.dumps(payload).encode()
    mac = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return body, {
        "X-GitHub-Event": event,
        "X-GitHub-Delivery": f"d-{time.time_ns()}",
        "X-Hub-Signature-256": f"sha256={mac}",
        "Content-Type": "application/json",
    }


def _instant(ago: timedelta = timedelta()) -> str:
    return (datetime.now(UTC) - ago).strftime("%Y-%m-%dT%H:%M:%SZ")


def _described(asked: Asked) -> tuple[str, dict[str, Any]]:
    for template, operations in DESCRIPTION["paths"].items():
        pattern = re.sub(r"\\\{[^}]*\\\}", "[^/]+", re.escape(template))
        if re.fullmatch(pattern, asked.path) and asked.method.lower() in operations:
            described: dict[str, Any] = operations[asked.method.lower()]
            known = {one["name"]: one["schema"] for one in described["parameters"] if one["in"] == "query"}
            assert asked.query.keys() <= known.keys(), asked.query
            for name, value in asked.query.items():
                jsonschema.validate(int(value) if known[name].get("type") == "integer" else value, known[name])
            return template, described
    raise AssertionError(f"GitHub describes no {asked.method} {asked.path}")
