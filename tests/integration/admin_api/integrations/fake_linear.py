"""Linear's GraphQL interface for what is asked of it; every request is validated against its published schema
(``descriptions/linear.graphql``) and its inputs are read as that schema says.

https://linear.app/developers/graphql (errors), …/rate-limiting (400 with the code RATELIMITED), …/webhooks (signature,
payload).
"""

import hashlib
import hmac
import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from graphql import GraphQLError, build_schema, parse, validate
from graphql.execution.values import get_variable_values

from tests.integration.outgoing.fake_platform import Answered, Asked, FakePlatform

KEY, SECRET, TEAM = "lin_api_test", "lin_wh_test", "9cfb482a-81e3-4154-b5b9-2c805e70a02d"
SCHEMA = build_schema((Path(__file__).parent / "descriptions" / "linear.graphql").read_text("utf-8"))
STATES = ["Backlog", "Todo", "Approved", "Rejected"]


@dataclass
class FakeLinear(FakePlatform):
    """A team whose states come two a page."""

    tickets: dict[str, dict[str, Any]] = field(default_factory=dict)
    comments: dict[str, dict[str, Any]] = field(default_factory=dict)
    users: dict[str, dict[str, Any]] = field(default_factory=dict)

    def document(self, **changes: Any) -> dict[str, Any]:
        return {
            "enabled": True, "base_url": self.base_url, "team_id": TEAM, "approve_statuses": ["Approved"],
            "deny_statuses": ["Rejected"], "api_key": KEY, "webhook_secret": SECRET, **changes,
        }  # fmt: skip

    def add_user(self, account: str, email: str | None, **changes: Any) -> None:
        self.users[account] = {"active": True, "app": False, "email": email, **changes}

    def respond(self, asked: Asked) -> Answered:
        if asked.headers.get("authorization") != KEY:
            return _failed(401, "AUTHENTICATION_ERROR")
        assert (asked.method, asked.path) == ("POST", "/graphql")
        document = parse(asked.body["query"])
        assert validate(SCHEMA, document) == []
        (operation,) = document.definitions
        variables = get_variable_values(SCHEMA, operation.variable_definitions, asked.body["variables"])  # type: ignore[attr-defined]
        assert not isinstance(variables, list) or not any(isinstance(one, GraphQLError) for one in variables), variables
        return self._data(operation.name.value, asked.body["variables"])  # type: ignore[attr-defined]

    def _data(self, operation: str, given: dict[str, Any]) -> Answered:
        match operation:
            case "Find":
                found = [
                    {**_shown(one), "creator": {"isMe": one.get("creator") is None}}
                    for one in self.tickets.values()
                    if one["id"] == given["id"]
                ]
                return _answer({"issues": {"nodes": found}})
            case "Open":
                issue = given["input"]
                if issue["id"] in self.tickets:
                    return _failed(400, "INPUT_ERROR")
                number = len(self.tickets) + 1
                self.tickets[issue["id"]] = {**issue, "identifier": f"GATE-{number}", "state": "Todo"}
                return _answer({"issueCreate": {"success": True, "issue": _shown(self.tickets[issue["id"]])}})
            case "FindComment":
                return _answer({"comments": {"nodes": [{"id": one} for one in self.comments if one == given["id"]]}})
            case "Comment":
                if given["input"]["id"] in self.comments:
                    return _failed(400, "INPUT_ERROR")
                self.comments[given["input"]["id"]] = given["input"]
                return _answer({"commentCreate": {"success": True}})
            case "States":
                start = int(given.get("after") or 0)
                nodes = [{"id": f"state-{name}", "name": name} for name in STATES[start : start + 2]]
                page = {"hasNextPage": start + 2 < len(STATES), "endCursor": str(start + 2)}
                issue = self.tickets[given["id"]]
                team = {"states": {"nodes": nodes, "pageInfo": page}}
                return _answer({"issue": {"state": {"name": issue["state"]}, "team": team}})
            case "Move":
                self.tickets[given["id"]]["state"] = given["input"]["stateId"].removeprefix("state-")
                return _answer({"issueUpdate": {"success": True}})
            case "Texts":
                issue = self.tickets[given["id"]]
                return _answer({"issue": {"title": issue["title"], "description": issue["description"]}})
            case "User":
                user = self.users.get(given["id"])
                return _failed(200, "INPUT_ERROR") if user is None else _answer({"user": user})
        return _answer({"viewer": {"id": "1", "displayName": "Headgate"}})

    def limited(self) -> Answered:
        at = int((time.time() + 77) * 1000)
        return _failed(400, "RATELIMITED", f"X-RateLimit-Requests-Reset: {at}")

    def rejected(self) -> Answered:
        return _failed(200, "INPUT_ERROR")

    def texts(self, ticket: dict[str, Any]) -> list[str]:
        return [one["body"].replace("\\", "") for one in self.comments.values() if one["issueId"] == ticket["id"]]

    def state(self, ticket: dict[str, Any]) -> str:
        return str(ticket["state"])

    def moved(
        self, ticket: dict[str, Any], to: str, account: str, *, secret: str = SECRET, age_seconds: float = 0
    ) -> tuple[bytes, dict[str, str]]:
        payload = {
            "action": "update", "type": "Issue", "actor": {"id": account, "type": "user", "name": "Ada L."},
            "data": {"id": ticket["id"], "identifier": ticket["identifier"], "stateId": "x", "state": {"name": to}},
            "updatedFrom": {"stateId": "y", "updatedAt": "2026-11-21T10:00:00Z"}, "webhookId": "w",
            "webhookTimestamp": int((time.time() - age_seconds) * 1000),
        }  # fmt: skip
        body = json.dumps(payload).encode()
        mac = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
        return body, {"Linear-Signature": mac, "Linear-Delivery": f"d-{time.time_ns()}", "Linear-Event": "Issue"}


def _shown(ticket: dict[str, Any]) -> dict[str, Any]:
    return {"id": ticket["id"], "identifier": ticket["identifier"], "url": "https://linear.app/x/issue/GATE-1"}


def _answer(data: dict[str, Any]) -> Answered:
    return Answered(200, {"data": data})


def _failed(status: int, code: str, *headers: str) -> Answered:
    error = {"message": "it failed", "extensions": {"code": code, "userError": True}}
    return Answered(status, {"data": None, "errors": [error]}, headers)
