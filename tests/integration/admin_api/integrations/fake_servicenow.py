"""ServiceNow's Table API for what is asked of it, answering as its reference says.

https://www.servicenow.com/docs/bundle/xanadu-api-reference/page/integrate/inbound-rest/concept/c_TableAPI.html:
``result``; 201 for a new record, errors as ``{"error": {"message", "detail"}, "status": "failure"}``,
``X-Total-Count``, values as text; a query on a field that the table lacks finds every record. "Inbound REST API rate
limiting": 429, Retry-After.
"""

import base64
import hashlib
import hmac
import json
import time
from dataclasses import dataclass, field
from typing import Any

from tests.integration.outgoing.fake_platform import Answered, Asked, FakePlatform

USER, PASSWORD, SECRET = "headgate", "sn-password", "sn-secret"


@dataclass
class FakeServiceNow(FakePlatform):
    """``lacks_correlation``: as if the table had no such field."""

    tickets: dict[str, dict[str, Any]] = field(default_factory=dict)
    journal: list[dict[str, str]] = field(default_factory=list)
    users: dict[str, dict[str, str]] = field(default_factory=dict)

    def document(self, **changes: Any) -> dict[str, Any]:
        return {
            "enabled": True, "base_url": self.base_url, "username": USER, "approve_statuses": ["approved"],
            "deny_statuses": ["rejected"], "match_by_email": True, "password": PASSWORD, "webhook_secret": SECRET,
            **changes,
        }  # fmt: skip

    def add_user(self, account: str, email: str | None, **changes: Any) -> None:
        active = "true" if changes.pop("active", True) else "false"
        self.users[account] = {"email": email or "", "active": active, "locked_out": "false", **changes}

    def respond(self, asked: Asked) -> Answered:
        expected = "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        if asked.headers.get("authorization") != expected:
            return _failed(401, "User Not Authenticated")
        table, *rest = asked.path.removeprefix("/api/now/table/").split("/")
        match asked.method, table, rest:
            case "GET", "sys_user", [account]:
                user = self.users.get(account)
                return _failed(404, "No Record found") if user is None else Answered(200, {"result": user})
            case "GET", "sys_journal_field", []:
                conditions = asked.query["sysparm_query"].split("^")
                sys_id, mark = conditions[0].split("=")[1], conditions[2].removeprefix("valueLIKE")
                found = [one for one in self.journal if one["element_id"] == sys_id and mark in one["value"]]
                return self._page(asked, found)
            case "GET", "change_request", []:
                return self._page(asked, list(self.tickets.values()))  # every record, whatever was asked for
            case "GET", "change_request", [sys_id] if sys_id in self.tickets:
                return Answered(200, {"result": self.tickets[sys_id]})
            case "POST", "change_request", []:
                assert all(isinstance(value, str) for value in asked.body.values())
                assert len(asked.body["short_description"]) <= 160
                number = len(self.tickets) + 1
                record = {
                    "sys_id": f"{number:032x}",
                    "number": f"CHG{number:07}",
                    "approval": "requested",
                    "sys_created_by": USER,
                    **asked.body,
                }
                self.tickets[record["sys_id"]] = record
                return Answered(201, {"result": record})
            case "PATCH", "change_request", [sys_id] if sys_id in self.tickets:
                changes = dict(asked.body)
                if "work_notes" in changes:
                    note = changes.pop("work_notes")
                    self.journal.append({"element_id": sys_id, "element": "work_notes", "value": note})
                self.tickets[sys_id] |= changes
                return Answered(200, {"result": self.tickets[sys_id]})
        return _failed(404, "No Record found")

    def _page(self, asked: Asked, rows: list[dict[str, Any]]) -> Answered:
        start, most = int(asked.query.get("sysparm_offset", "0")), int(asked.query["sysparm_limit"])
        return Answered(200, {"result": rows[start : start + most]}, (f"X-Total-Count: {len(rows)}",))

    def limited(self) -> Answered:
        return Answered(429, {"error": {"message": "Rate limit exceeded"}}, ("Retry-After: 77",))

    def rejected(self) -> Answered:
        return _failed(400, "Invalid table change_request")

    def texts(self, ticket: dict[str, Any]) -> list[str]:
        return [one["value"] for one in self.journal if one["element_id"] == ticket["sys_id"]]

    def state(self, ticket: dict[str, Any]) -> str:
        return str(ticket["approval"]).title()

    def moved(
        self, ticket: dict[str, Any], to: str, account: str, *, secret: str = SECRET, age_seconds: float = 0
    ) -> tuple[bytes, dict[str, str]]:
        payload = {
            "sys_id": ticket["sys_id"], "number": ticket["number"], "table": "change_request", "field": "approval",
            "value": to.lower(), "user_sys_id": account, "user_name": "Ada L.",
            "correlation_id": ticket["correlation_id"],
        }  # fmt: skip
        body, at = json.dumps(payload).encode(), str(int(time.time() - age_seconds))
        mac = base64.b64encode(hmac.new(secret.encode(), f"{at}.".encode() + body, hashlib.sha256).digest()).decode()
        return body, {"X-Headgate-Timestamp": at, "X-Headgate-Signature": f"v1={mac}"}


def _failed(status: int, message: str) -> Answered:
    return Answered(status, {"error": {"message": message, "detail": None}, "status": "failure"})
