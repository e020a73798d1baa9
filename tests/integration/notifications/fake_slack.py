"""The parts of Slack's Web API that are called, on loopback, answering as its reference says.

https://docs.slack.dev/reference/methods/chat.postMessage, …/chat.update, …/views.open, …/users.info, …/auth.test
(errors: ``invalid_auth``, ``channel_not_found``, ``user_not_found``),
https://docs.slack.dev/apis/web-api/rate-limits (429 with Retry-After), and the response URL of https://docs.slack.dev/interactivity/handling-user-interaction.
"""

import hashlib
import hmac
import json
import time
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from tests.integration.outgoing.fake_platform import Answered, Asked, FakePlatform, start
from tests.integration.outgoing.receivers import Receivers

TOKEN = "xoxb-test"
TEAM = "T0HOME"
ENTERPRISE = "E0HOME"
SIGNING_SECRET = "8f742231b10e8888abcd99yyyzzz85a5"


@dataclass
class FakeSlack(FakePlatform):
    """``calls``: (method, arguments) in order. ``members``: users.info's answer by account. ``answers``: what a method
    answers instead, taken from the front."""

    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    members: dict[str, dict[str, Any]] = field(default_factory=dict)
    answers: dict[str, list[tuple[int, dict[str, Any], tuple[str, ...]]]] = field(default_factory=dict)

    @property
    def api_url(self) -> str:
        return f"{self.base_url}/api"

    @property
    def response_url(self) -> str:
        return f"{self.base_url}/actions/T1/1/abc"

    def arguments_of(self, method: str) -> list[dict[str, Any]]:
        return [arguments for name, arguments in self.calls if name == method]

    def add_member(self, account: str, email: str | None, **changes: object) -> None:
        profile = {} if email is None else {"email": email}
        member = {
            "id": account, "team_id": TEAM, "deleted": False, "is_bot": False, "is_email_confirmed": True,
            "profile": profile,
        }  # fmt: skip
        self.members[account] = {**member, **changes}

    def respond(self, asked: Asked) -> Answered:
        name = asked.path.removeprefix("/api/")
        arguments = asked.body or asked.query
        self.calls.append((name, arguments))
        if self.answers.get(name):
            return Answered(*self.answers[name].pop(0))
        return Answered(body=self._answer(name, arguments, asked.headers.get("authorization")))

    def _answer(self, name: str, arguments: dict[str, Any], credential: str | None) -> dict[str, Any]:
        if name.startswith("/actions/"):
            return {"ok": True}
        if credential != f"Bearer {TOKEN}":
            return {"ok": False, "error": "invalid_auth"}
        match name:
            case "chat.postMessage":
                return {"ok": True, "channel": arguments["channel"], "ts": f"1700000000.{len(self.calls):06}"}
            case "chat.update":
                return {"ok": True, "channel": arguments["channel"], "ts": arguments["ts"]}
            case "views.open":
                return {"ok": True, "view": {"id": "V1"}}
            case "auth.test":
                return {"ok": True, "team_id": TEAM, "enterprise_id": ENTERPRISE}
            case "users.info":
                member = self.members.get(arguments["user"])
                return {"ok": False, "error": "user_not_found"} if member is None else {"ok": True, "user": member}
        return {"ok": False, "error": "unknown_method"}


async def start_slack(world: Receivers) -> FakeSlack:
    return await start(world, FakeSlack)


def pressed(
    payload: dict[str, Any], *, secret: str = SIGNING_SECRET, age_seconds: float = 0
) -> tuple[bytes, dict[str, str]]:
    """A signed interaction: its body and headers."""
    body, at = urlencode({"payload": json.dumps(payload)}).encode(), str(int(time.time() - age_seconds))
    signature = hmac.new(secret.encode(), f"v0:{at}:".encode() + body, hashlib.sha256).hexdigest()
    return body, {
        "X-Slack-Request-Timestamp": at,
        "X-Slack-Signature": f"v0={signature}",
        "Content-Type": "application/x-www-form-urlencoded",
    }
