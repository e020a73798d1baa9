"""Linear's GraphQL API: issues, comments and workflow states.

Sources: https://linear.app/developers/graphql (keys, errors), …/pagination (pageInfo), …/rate-limiting (400 with the
code RATELIMITED, and the reset time in ``X-RateLimit-Requests-Reset``), and the published schema. Issues and comments
accept identifiers from the caller (UUID v4). One approval always has the same identifier, so a retry creates no
duplicate.
"""

import hashlib
from typing import Final
from uuid import UUID

from msgspec import Struct

from headgate.integrations.linear.settings import LinearSettings
from headgate.integrations.model import Item, Notice, Opened, Request
from headgate.integrations.platform_api import Answer, PlatformApi, PlatformError, list_at, text_at
from headgate.integrations.shown_text import code
from headgate.kernel.canonical_json import JsonObject, JsonValue, canonical_bytes
from headgate.kernel.clock import Clock
from headgate.kernel.secrets import Secret
from headgate.organizations.destinations import DestinationRules
from headgate.outgoing.client import OutgoingClient

FIND: Final = (
    "query Find($id: ID!) { issues(first: 1, includeArchived: true, filter: { id: { eq: $id } })"
    " { nodes { id identifier url creator { isMe } } } }"
)
OPEN: Final = (
    "mutation Open($input: IssueCreateInput!) { issueCreate(input: $input) { success issue { id identifier url } } }"
)
FIND_COMMENT: Final = "query FindComment($id: ID!) { comments(first: 1, filter: { id: { eq: $id } }) { nodes { id } } }"
COMMENT: Final = "mutation Comment($input: CommentCreateInput!) { commentCreate(input: $input) { success } }"
STATES: Final = (
    "query States($id: String!, $after: String) { issue(id: $id) { state { name } team { states(first: 100,"
    " after: $after) { nodes { id name } pageInfo { hasNextPage endCursor } } } } }"
)
MOVE: Final = (
    "mutation Move($id: String!, $input: IssueUpdateInput!) { issueUpdate(id: $id, input: $input) { success } }"
)
TEXTS: Final = "query Texts($id: String!) { issue(id: $id) { title description } }"
USER: Final = "query User($id: String!) { user(id: $id) { active app email } }"
VIEWER: Final = "query Viewer { viewer { id displayName } }"

_TITLE_CHARACTERS: Final = 255
_MOST_PAGES: Final = 20
_LONGEST_WAIT_SECONDS: Final = 3600.0


def linear_api(client: OutgoingClient, settings: LinearSettings, key: Secret, rules: DestinationRules) -> PlatformApi:
    return PlatformApi(client, settings.base_url, (("authorization", key.reveal()),), rules)


def id_of(name: str) -> str:
    """A UUID in the form of version 4, derived from the name (RFC 9562, section 5.4)."""
    return str(UUID(bytes=hashlib.sha256(b"headgate " + name.encode()).digest()[:16], version=4))


class LinearTracker(Struct, frozen=True):
    """``tracker.Tracker`` for one organization."""

    api: PlatformApi
    settings: LinearSettings
    clock: Clock

    async def find(self, approval_id: str) -> Opened | None:
        data = await self._ask(FIND, {"id": id_of(approval_id)})
        return next((_opened(one) for one in list_at(data, "issues", "nodes") if _is_ours(one)), None)

    async def open(self, request: Request) -> Opened:
        title, description = self.written(request)
        issue: JsonObject = {
            "id": id_of(request.approval_id),
            "teamId": self.settings.team_id,
            "title": title,
            "description": description,
        }
        data = await self._ask(OPEN, {"input": issue})
        created = data.get("issueCreate")
        return _opened(created.get("issue") if isinstance(created, dict) else None)

    async def tell(self, item: Item, notice: Notice, *, again: bool) -> None:
        comment_id = id_of(notice.mark)
        there = again and list_at(await self._ask(FIND_COMMENT, {"id": comment_id}), "comments", "nodes")
        if not there:
            comment: JsonObject = {
                "id": comment_id,
                "issueId": item.opened.external_id,
                "body": f"{inert(notice.title)}\n\n{inert(notice.text)}",
            }
            await self._ask(COMMENT, {"input": comment})
        if self.settings.mirror_status and (states := self.settings.states.of_outcome(notice.outcome)):
            await self._move(item.opened.external_id, states)

    def written(self, request: Request) -> list[JsonValue]:
        """The title and description at opening."""
        return [request.title[:_TITLE_CHARACTERS], description_of(request)]

    async def texts(self, external_id: str) -> list[JsonValue]:
        """The current title and description."""
        issue = (await self._ask(TEXTS, {"id": external_id})).get("issue")
        if not isinstance(issue, dict) or "title" not in issue:
            raise PlatformError("unexpected_answer")
        return [issue["title"], issue.get("description")]

    async def verified_email(self, account: str) -> str | None:
        """Linear signs users in by e-mail, or by a provider that verifies the address."""
        found = (await self._ask(USER, {"id": account})).get("user")
        if not isinstance(found, dict) or found.get("active") is not True or found.get("app") is not False:
            return None
        return text_at(found, "email")

    async def who_am_i(self) -> str:
        return text_at(await self._ask(VIEWER, {}), "viewer", "displayName") or ""

    async def _move(self, issue_id: str, states: tuple[str, ...]) -> None:
        wanted = [one.casefold() for one in states]
        by_name: dict[str, str] = {}
        after: str | None = None
        for _ in range(_MOST_PAGES):
            issue = (await self._ask(STATES, {"id": issue_id, "after": after})).get("issue")
            if (text_at(issue, "state", "name") or "").casefold() in wanted:
                return
            for one in list_at(issue, "team", "states", "nodes"):
                by_name.setdefault((text_at(one, "name") or "").casefold(), text_at(one, "id") or "")
            after = text_at(issue, "team", "states", "pageInfo", "endCursor")
            if after is None or not _has_next(issue):
                break
        chosen = next((by_name[one] for one in wanted if one in by_name), None)
        if chosen is not None:
            await self._ask(MOVE, {"id": issue_id, "input": {"stateId": chosen}})

    async def _ask(self, query: str, variables: JsonObject) -> JsonObject:
        """Returns the data. Raises PlatformError: an answer with errors is a failure, whatever its status."""
        answer = await self.api.call("POST", "/graphql", {"query": query, "variables": variables}, accepted=(200, 400))
        errors = list_at(answer.document, "errors")
        data = answer.members.get("data")
        if errors or not isinstance(data, dict):
            raise self._refused(answer, errors)
        return data

    def _refused(self, answer: Answer, errors: list[JsonValue]) -> PlatformError:
        excerpt = canonical_bytes(errors).decode()[:500] if errors else None
        codes = {text_at(one, "extensions", "code") for one in errors}
        if "RATELIMITED" in codes:
            return PlatformError("ratelimited", status=429, excerpt=excerpt, retry_after_seconds=self._until(answer))
        return PlatformError(
            "graphql", status=answer.status, excerpt=excerpt, is_final="AUTHENTICATION_ERROR" not in codes
        )

    def _until(self, answer: Answer) -> float | None:
        """Milliseconds since the epoch."""
        reset = answer.response.header("x-ratelimit-requests-reset") or ""
        if not (reset.isascii() and reset.isdigit()) or len(reset) > 15:
            return None
        return min(max(int(reset) / 1000 - self.clock().timestamp(), 1.0), _LONGEST_WAIT_SECONDS)


def description_of(request: Request) -> str:
    """Markdown. The link is ours and contains no character that would end it."""
    opened = None if request.link is None else f"[Open in Headgate]({request.link})"
    params = None if request.params is None else code(request.params, "json")
    return "\n\n".join(part for part in (inert(request.summary), opened, params) if part is not None)


def inert(text: str) -> str:
    """Escapes Markdown, so that agents' text cannot form links, images, mentions or headings."""
    escaped = "".join("\\" + one if one in "\\`*_[]<>#|~" else one for one in text)
    return "\n".join(f"{line}  " for line in escaped.split("\n"))


def _is_ours(issue: JsonValue) -> bool:
    """Anyone who may create issues could create one with the identifier that ours would have."""
    creator = issue.get("creator") if isinstance(issue, dict) else None
    return isinstance(creator, dict) and creator.get("isMe") is True


def _opened(issue: JsonValue) -> Opened:
    issue_id, identifier = text_at(issue, "id"), text_at(issue, "identifier")
    if issue_id is None or identifier is None:
        raise PlatformError("unexpected_answer")
    return Opened(issue_id, identifier, text_at(issue, "url"))


def _has_next(issue: JsonValue) -> bool:
    found: JsonValue = issue
    for name in ("team", "states", "pageInfo", "hasNextPage"):
        found = found.get(name) if isinstance(found, dict) else None
    return found is True
