"""The parts of Jira Cloud's REST API that are called, answering as its reference says.

https://developer.atlassian.com/cloud/jira/platform/rest/v3/: api-group-issues (201 with id, key and self; 400 with
errorMessages and errors; 404), api-group-issue-comments (pages by startAt, maxResults, total), api-group-issue-search
(``/search/jql``: pages by nextPageToken, no total), api-group-users, api-group-myself; "Rate limiting" (429 with
Retry-After) and https://developer.atlassian.com/cloud/jira/platform/webhooks/ (signature, retries, changelog). Bodies
of requests are checked by the schema below, made from those pages' tables.
"""

import base64
import hashlib
import hmac
import json
import time
from dataclasses import dataclass, field
from typing import Any

import jsonschema

from tests.integration.outgoing.fake_platform import Answered, Asked, FakePlatform

EMAIL, TOKEN, SECRET = "gate@example.com", "jira-token", "jira-webhook-secret"
OURS = "557058:ours"

_TEXT_NODE = {
    "type": "object",
    "required": ["type"],
    "properties": {
        "type": {"enum": ["text", "hardBreak"]},
        "text": {"type": "string", "minLength": 1},
        "marks": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["type", "attrs"],
                "properties": {
                    "type": {"const": "link"},
                    "attrs": {"type": "object", "required": ["href"], "properties": {"href": {"type": "string"}}},
                },
            },
        },
    },
    "additionalProperties": False,
}
_CODE_NODE = {
    "type": "object",
    "required": ["type", "text"],
    "properties": {"type": {"const": "text"}, "text": {"type": "string", "minLength": 1}},
    "additionalProperties": False,
}
_DOCUMENT = {
    "type": "object",
    "required": ["type", "version", "content"],
    "additionalProperties": False,
    "properties": {
        "type": {"const": "doc"},
        "version": {"const": 1},
        "content": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["type", "content"],
                "additionalProperties": False,
                "properties": {"type": {"enum": ["paragraph", "codeBlock"]}, "content": {"type": "array"}},
                "if": {"properties": {"type": {"const": "codeBlock"}}},
                "then": {"properties": {"content": {"items": _CODE_NODE}}},
                "else": {"properties": {"content": {"items": _TEXT_NODE}}},
            },
        },
    },
}
_CREATE = {
    "type": "object",
    "required": ["fields"],
    "additionalProperties": False,
    "properties": {
        "fields": {
            "type": "object",
            "required": ["project", "issuetype", "summary"],
            "properties": {
                "project": {"type": "object", "required": ["key"]},
                "issuetype": {"type": "object", "required": ["name"]},
                "summary": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[^\\n]*$"},
                "description": _DOCUMENT,
                "labels": {"type": "array", "items": {"type": "string", "pattern": "^\\S{1,255}$"}},
            },
        }
    },
}
_COMMENT = {"type": "object", "required": ["body"], "properties": {"body": _DOCUMENT}, "additionalProperties": False}
_SEARCH = {
    "type": "object",
    "required": ["jql"],
    "additionalProperties": False,
    "properties": {
        "jql": {"type": "string"},
        "fields": {"type": "array"},
        "maxResults": {"type": "integer", "maximum": 5000},
        "nextPageToken": {"type": "string"},
    },
}
STATUSES = {"11": "To Do", "21": "Approved", "31": "Rejected"}


@dataclass
class FakeJira(FakePlatform):
    """``unindexed``: so many searches find nothing yet; ``others``: issues that come before ours in a search."""

    issues: dict[str, dict[str, Any]] = field(default_factory=dict)
    users: dict[str, dict[str, Any]] = field(default_factory=dict)
    unindexed: int = 0
    others: int = 0

    def add_user(self, account: str, email: str | None, **changes: Any) -> None:
        user = {"accountId": account, "accountType": "atlassian", "active": True, "displayName": account.title()}
        self.users[account] = {**user, **({} if email is None else {"emailAddress": email}), **changes}

    def respond(self, asked: Asked) -> Answered:
        expected = "Basic " + base64.b64encode(f"{EMAIL}:{TOKEN}".encode()).decode()
        if asked.headers.get("authorization") != expected:
            return Answered(401, {"errorMessages": ["You are not authenticated."], "errors": {}})
        path = asked.path.removeprefix("/rest/api/3/").split("/")
        match asked.method, path:
            case "GET", ["myself"]:
                return Answered(200, {"accountId": OURS, "displayName": "Headgate"})
            case "GET", ["user"]:
                user = self.users.get(asked.query["accountId"])
                missing = {"errorMessages": ["The user does not exist."], "errors": {}}
                return Answered(404, missing) if user is None else Answered(200, user)
            case "POST", ["search", "jql"]:
                return self._search(asked.body)
            case "POST", ["issue"]:
                return self._create(asked.body)
            case "POST", ["issue", issue, "comment"]:
                jsonschema.validate(asked.body, _COMMENT)
                comment = {"id": str(len(self.issues[issue]["comments"]) + 1), "body": asked.body["body"]}
                self.issues[issue]["comments"].append(comment)
                return Answered(201, comment)
            case "GET", ["issue", issue, "comment"]:
                return self._comments(issue, asked.query)
            case "GET", ["issue", issue, "transitions"]:
                offered = [{"id": key, "name": f"To {name}", "to": {"name": name}} for key, name in STATUSES.items()]
                return Answered(200, {"transitions": offered})
            case "POST", ["issue", issue, "transitions"]:
                self.issues[issue]["status"] = STATUSES[asked.body["transition"]["id"]]
                return Answered(204)
            case "GET", ["issue", issue] if issue in self.issues:
                every = {**self.issues[issue]["fields"], "status": {"name": self.issues[issue]["status"]}}
                asked_for = {name: every[name] for name in asked.query["fields"].split(",")}
                return Answered(200, {"id": issue, "fields": asked_for})
        return Answered(404, {"errorMessages": ["Issue does not exist or you do not have permission to see it."]})

    def _create(self, body: Any) -> Answered:
        jsonschema.validate(body, _CREATE)
        fields = body["fields"]
        if fields["project"]["key"] != "GATE":
            return Answered(400, {"errorMessages": [], "errors": {"project": "valid project is required"}})
        issue = str(10000 + len(self.issues))
        self.issues[issue] = {
            "id": issue, "key": f"GATE-{len(self.issues) + 1}", "status": "To Do", "fields": fields, "comments": [],
        }  # fmt: skip
        return Answered(201, {"id": issue, "key": self.issues[issue]["key"], "self": f"{self.base_url}/issue/{issue}"})

    def _search(self, body: Any) -> Answered:
        jsonschema.validate(body, _SEARCH)
        if self.unindexed:
            self.unindexed -= 1
            return Answered(200, {"issues": [], "isLast": True})
        label = body["jql"].split('labels = "')[1].split('"')[0]
        pages: list[list[dict[str, Any]]] = [
            [{"id": "1", "key": "GATE-0", "fields": {"labels": [label.upper()]}}] for _ in range(self.others)
        ]
        found = [one for one in self.issues.values() if label in one["fields"]["labels"]]
        if "creator = currentUser()" in body["jql"]:
            found = [one for one in found if one.get("creator", OURS) == OURS]
        pages.append(
            [{"id": one["id"], "key": one["key"], "fields": {"labels": one["fields"]["labels"]}} for one in found]
        )
        at = int(body.get("nextPageToken", "0"))
        page: dict[str, Any] = {"issues": pages[at]}
        return Answered(200, page if at + 1 == len(pages) else {**page, "nextPageToken": str(at + 1)})

    def _comments(self, issue: str, query: dict[str, str]) -> Answered:
        """At most two a page, whatever is asked for: the reference allows a server fewer than maxResults."""
        every = list(reversed(self.issues[issue]["comments"]))
        start = int(query["startAt"])
        page = {"startAt": start, "maxResults": 2, "total": len(every), "comments": every[start : start + 2]}
        return Answered(200, page)

    def texts(self, issue: str) -> list[str]:
        """Each comment's words."""
        return [_words(one["body"]) for one in self.issues[issue]["comments"]]

    def description(self, issue: str) -> str:
        return _words(self.issues[issue]["fields"]["description"])


def _words(document: Any) -> str:
    return "\n".join(
        "".join("\n" if node["type"] == "hardBreak" else node["text"] for node in paragraph["content"])
        for paragraph in document["content"]
    )


def moved(
    issue: dict[str, Any],
    to: str,
    account: str,
    *,
    secret: str = SECRET,
    age_seconds: float = 0,
    comment: str | None = None,
    **changes: Any,
) -> tuple[bytes, dict[str, str]]:
    """The webhook of a transition: its body and headers."""
    payload: dict[str, Any] = {
        "timestamp": int((time.time() - age_seconds) * 1000),
        "webhookEvent": "jira:issue_updated",
        "issue_event_type_name": "issue_generic",
        "user": {"accountId": account, "displayName": "Ada L.", "accountType": "atlassian"},
        "issue": {
            "id": issue["id"],
            "key": issue["key"],
            "fields": {"labels": issue["fields"]["labels"], "status": {"name": to}},
        },
        "changelog": {
            "id": "10124",
            "items": [
                {"field": "resolution", "fieldId": "resolution", "fromString": None, "toString": "Done"},
                {"field": "status", "fieldId": "status", "from": "1", "fromString": "To Do", "to": "2", "toString": to},
            ],
        },
    }
    if comment is not None:
        payload["comment"] = {"id": "1", "body": comment, "author": {"accountId": account}}
    body = json.dumps(payload | changes).encode()
    mac = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return body, {
        "X-Hub-Signature": f"sha256={mac}",
        "X-Atlassian-Webhook-Identifier": f"id-{time.time_ns()}",
        "Content-Type": "application/json",
    }
