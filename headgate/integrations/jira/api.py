"""Jira Cloud's REST API, version 3: tickets, comments and transitions.

Sources, all under https://developer.atlassian.com/cloud/jira/platform/rest/v3/: api-group-issues (create, get,
transitions), api-group-issue-comments, api-group-issue-search (``/search/jql``, pages by ``nextPageToken``; the search
may lag behind writes), api-group-users, api-group-myself, and "Basic auth for REST APIs". Texts are plain nodes of the
Atlassian Document Format, so agents' text cannot form mentions, links or macros.
"""

import base64
from typing import Final
from urllib.parse import quote

from msgspec import Struct

from headgate.integrations.jira.settings import JiraSettings
from headgate.integrations.model import Item, Notice, Opened, Request
from headgate.integrations.platform_api import PlatformApi, PlatformError, list_at, text_at
from headgate.kernel.canonical_json import JsonObject, JsonValue, canonical_bytes
from headgate.kernel.secrets import Secret
from headgate.organizations.destinations import DestinationRules
from headgate.outgoing.client import OutgoingClient

SETTLING_SECONDS: Final = 60.0
"""How long a search may miss a new ticket."""
_SUMMARY_CHARACTERS: Final = 255
_PAGE: Final = 100
_MOST_PAGES: Final = 20


def jira_api(client: OutgoingClient, settings: JiraSettings, token: Secret, rules: DestinationRules) -> PlatformApi:
    credential = base64.b64encode(f"{settings.email}:{token.reveal()}".encode()).decode()
    return PlatformApi(client, settings.base_url, (("authorization", f"Basic {credential}"),), rules)


def label_of(approval_id: str) -> str:
    """The label that identifies a ticket's approval; labels contain no spaces."""
    return f"headgate-{approval_id}"


class JiraTracker(Struct, frozen=True):
    """``tracker.Tracker`` for one organization."""

    api: PlatformApi
    settings: JiraSettings

    async def find(self, approval_id: str) -> Opened | None:
        """Tickets that our account created: any member of the project could write the label and another text."""
        mark = f'labels = "{label_of(approval_id)}" AND creator = currentUser()'
        jql = f'project = "{self.settings.project_key}" AND {mark} ORDER BY created ASC'
        wanted: JsonObject = {"jql": jql, "fields": ["labels"], "maxResults": _PAGE}
        for _ in range(_MOST_PAGES):
            page = (await self.api.call("POST", "/rest/api/3/search/jql", wanted)).members
            for issue in list_at(page, "issues"):
                # JQL compares labels case-insensitively, and a page before the last may be empty.
                if label_of(approval_id) in list_at(issue, "fields", "labels"):
                    return self._opened(issue)
            token = text_at(page, "nextPageToken")
            if token is None:
                return None
            wanted = {**wanted, "nextPageToken": token}
        raise PlatformError("too_many_pages")

    async def open(self, request: Request) -> Opened:
        title, description = self.written(request)
        fields: JsonObject = {
            "project": {"key": self.settings.project_key},
            "issuetype": {"name": self.settings.issue_type},
            "summary": title,
            "description": description,
            "labels": ["headgate", label_of(request.approval_id)],
        }
        return self._opened((await self.api.call("POST", "/rest/api/3/issue", {"fields": fields})).document)

    async def tell(self, item: Item, notice: Notice, *, again: bool) -> None:
        issue = quote(item.opened.external_id, safe="")
        if not (again and await self._has_comment(issue, notice.mark)):
            text = f"{notice.title}\n\n{notice.text}\n\nHeadgate {notice.mark}"
            await self.api.call("POST", f"/rest/api/3/issue/{issue}/comment", {"body": document_of(text)})
        if self.settings.mirror_status and (states := self.settings.states.of_outcome(notice.outcome)):
            await self._move(issue, states)

    def written(self, request: Request) -> list[JsonValue]:
        """The title and description at opening."""
        return [request.title[:_SUMMARY_CHARACTERS], ticket_of(request)]

    async def texts(self, external_id: str) -> list[JsonValue]:
        """The current title and description."""
        issue = quote(external_id, safe="")
        fields = (await self.api.call("GET", f"/rest/api/3/issue/{issue}?fields=summary,description")).members.get(
            "fields"
        )
        if not isinstance(fields, dict) or "summary" not in fields:
            raise PlatformError("unexpected_answer")
        return [fields["summary"], fields.get("description")]

    async def verified_email(self, account: str) -> str | None:
        """Only a person's own account: apps have no address, and a portal's customer is not a colleague."""
        found = await self.api.call("GET", f"/rest/api/3/user?accountId={quote(account, safe='')}", accepted=(200, 404))
        if found.status == 404:
            return None
        user = found.members
        if user.get("active") is not True or user.get("accountType") != "atlassian":
            return None
        return text_at(user, "emailAddress")

    async def who_am_i(self) -> str:
        found = (await self.api.call("GET", "/rest/api/3/myself")).document
        return text_at(found, "displayName") or text_at(found, "accountId") or ""

    async def _has_comment(self, issue: str, mark: str) -> bool:
        start = 0
        for _ in range(_MOST_PAGES):
            path = f"/rest/api/3/issue/{issue}/comment?startAt={start}&maxResults={_PAGE}&orderBy=-created"
            page = (await self.api.call("GET", path)).members
            comments = list_at(page, "comments")
            if any(mark.encode() in canonical_bytes(one) for one in comments):
                return True
            start += len(comments)
            total = page.get("total")
            if not comments or not isinstance(total, int) or start >= total:
                return False
        return False

    async def _move(self, issue: str, states: tuple[str, ...]) -> None:
        """Moves the ticket into the first of these states that its workflow offers, unless it is in one of them.
        Without such a state the ticket stays, and the comment states the decision."""
        wanted = [one.casefold() for one in states]
        found = (await self.api.call("GET", f"/rest/api/3/issue/{issue}?fields=status")).document
        if (text_at(found, "fields", "status", "name") or "").casefold() in wanted:
            return
        offered = (await self.api.call("GET", f"/rest/api/3/issue/{issue}/transitions")).document
        by_status: dict[str, str] = {}
        for one in list_at(offered, "transitions"):
            name, transition_id = text_at(one, "to", "name"), text_at(one, "id")
            if name is not None and transition_id is not None:
                by_status.setdefault(name.casefold(), transition_id)
        chosen = next((by_status[one] for one in wanted if one in by_status), None)
        if chosen is not None:
            path = f"/rest/api/3/issue/{issue}/transitions"
            await self.api.call("POST", path, {"transition": {"id": chosen}})

    def _opened(self, issue: JsonValue) -> Opened:
        issue_id, key = text_at(issue, "id"), text_at(issue, "key")
        if issue_id is None or key is None:
            raise PlatformError("unexpected_answer")
        return Opened(issue_id, key, f"{self.settings.base_url}/browse/{quote(key, safe='')}")


def ticket_of(request: Request) -> JsonObject:
    """A text becomes a link only with a link mark, and a code block preserves indentation."""
    document = document_of(request.summary)
    parts: list[JsonValue] = list_at(document, "content")
    if request.link is not None:
        mark: JsonObject = {"type": "link", "attrs": {"href": request.link}}
        parts.append({"type": "paragraph", "content": [{"type": "text", "text": "Open in Headgate", "marks": [mark]}]})
    if request.params is not None:
        parts.append({"type": "codeBlock", "content": [{"type": "text", "text": request.params}]})
    return {**document, "content": parts}


def document_of(text: str) -> JsonObject:
    """A paragraph for each part between blank lines, with hard breaks in it."""
    paragraphs: list[JsonValue] = []
    for part in text.split("\n\n"):
        nodes: list[JsonValue] = []
        for line in part.split("\n"):
            if nodes:
                nodes.append({"type": "hardBreak"})
            if line:  # A text node is never empty.
                nodes.append({"type": "text", "text": line})
        if nodes:
            paragraphs.append({"type": "paragraph", "content": nodes})
    return {"type": "doc", "version": 1, "content": paragraphs}
