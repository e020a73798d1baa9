"""ServiceNow's Table API: records, journal entries and users.

Sources: https://www.servicenow.com/docs/bundle/xanadu-api-reference/page/integrate/inbound-rest/concept/c_TableAPI.html
(``result``, ``sysparm_query``, ``sysparm_limit``, ``sysparm_offset``, ``X-Total-Count``; errors as ``error.message``
and ``error.detail``), and "Inbound REST API rate limiting" of the same documentation (429 with Retry-After). A query
with a field that the table lacks returns *every* record, so the results are compared again.
"""

import base64
from typing import Final
from urllib.parse import quote

from msgspec import Struct

from headgate.integrations.model import Item, Notice, Opened, Request
from headgate.integrations.platform_api import PlatformApi, PlatformError, list_at, text_at
from headgate.integrations.servicenow.settings import ServiceNowSettings
from headgate.integrations.shown_text import cut
from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.kernel.secrets import Secret
from headgate.organizations.destinations import DestinationRules
from headgate.outgoing.client import OutgoingClient

_SHORT_CHARACTERS: Final = 160
_DESCRIPTION_CHARACTERS: Final = 4000
_PAGE: Final = 100
_MOST_PAGES: Final = 20
_OURS: Final = "Headgate"


def servicenow_api(
    client: OutgoingClient, settings: ServiceNowSettings, password: Secret, rules: DestinationRules
) -> PlatformApi:
    credential = base64.b64encode(f"{settings.username}:{password.reveal()}".encode()).decode()
    return PlatformApi(client, settings.base_url, (("authorization", f"Basic {credential}"),), rules)


class ServiceNowTracker(Struct, frozen=True):
    """``tracker.Tracker`` for one organization."""

    api: PlatformApi
    settings: ServiceNowSettings

    async def find(self, approval_id: str) -> Opened | None:
        query = f"correlation_id={approval_id}^correlation_display={_OURS}^ORDERBYsys_created_on"
        rows = await self._rows(self.settings.table, query, "sys_id,number,correlation_id,sys_created_by")
        return next((self._opened(one) for one in rows if self._is_ours(one, approval_id)), None)

    async def open(self, request: Request) -> Opened:
        title, description = self.written(request)
        record: JsonObject = {
            "short_description": title,
            "description": description,
            "correlation_id": request.approval_id,
            "correlation_display": _OURS,
        }
        path = f"/api/now/table/{self.settings.table}?sysparm_fields=sys_id,number,correlation_id"
        answer = await self.api.call("POST", path, record)
        return self._opened(answer.members.get("result"))

    async def tell(self, item: Item, notice: Notice, *, again: bool) -> None:
        """Updates the record once, with comment and decision."""
        sys_id = item.opened.external_id
        changes: JsonObject = {}
        if not (again and await self._is_told(sys_id, notice.mark)):
            changes[self.settings.journal_field] = f"{notice.title}\n\n{notice.text}\n\nHeadgate {notice.mark}"
        states = self.settings.states.of_outcome(notice.outcome) if self.settings.mirror_status else ()
        if states and not await self._is_in(sys_id, states):
            changes[self.settings.decision_field] = states[0]
        if changes:
            path = f"/api/now/table/{self.settings.table}/{quote(sys_id, safe='')}?sysparm_fields=sys_id"
            await self.api.call("PATCH", path, changes)

    def written(self, request: Request) -> list[JsonValue]:
        """The title and description at opening."""
        return [request.title[:_SHORT_CHARACTERS], cut(request.text, _DESCRIPTION_CHARACTERS)]

    async def texts(self, external_id: str) -> list[JsonValue]:
        """The current title and description."""
        row = quote(external_id, safe="")
        path = f"/api/now/table/{self.settings.table}/{row}?sysparm_fields=short_description,description"
        record = (await self.api.call("GET", path)).members.get("result")
        if not isinstance(record, dict) or "short_description" not in record:
            raise PlatformError("unexpected_answer")
        return [record["short_description"], record.get("description")]

    async def verified_email(self, account: str) -> str | None:
        """The address that the instance's administrators entered, of a user who may sign in."""
        path = f"/api/now/table/sys_user/{quote(account, safe='')}?sysparm_fields=email,active,locked_out"
        answer = await self.api.call("GET", path, accepted=(200, 404))
        user = answer.members.get("result")
        if text_at(user, "active") != "true" or text_at(user, "locked_out") != "false":
            return None
        return text_at(user, "email") or None

    async def who_am_i(self) -> str:
        """Checks that the account may read the table, and returns its name."""
        await self.api.call("GET", f"/api/now/table/{self.settings.table}?sysparm_limit=1&sysparm_fields=sys_id")
        return self.settings.username

    def _is_ours(self, row: JsonValue, approval_id: str) -> bool:
        """Checks the record's creator, which the instance sets: anyone who may write records may write the correlation
        id."""
        created_by = (text_at(row, "sys_created_by") or "").casefold()
        return text_at(row, "correlation_id") == approval_id and created_by == self.settings.username.casefold()

    async def _is_told(self, sys_id: str, mark: str) -> bool:
        query = f"element_id={sys_id}^element={self.settings.journal_field}^valueLIKE{mark}"
        rows = await self._rows("sys_journal_field", query, "element_id,value")
        return any(mark in (text_at(one, "value") or "") for one in rows)

    async def _is_in(self, sys_id: str, states: tuple[str, ...]) -> bool:
        name = self.settings.decision_field
        path = f"/api/now/table/{self.settings.table}/{quote(sys_id, safe='')}?sysparm_fields={name}"
        value = text_at((await self.api.call("GET", path)).document, "result", name) or ""
        return value.casefold() in {one.casefold() for one in states}

    async def _rows(self, table: str, query: str, fields: str) -> list[JsonValue]:
        """All pages, up to a bound."""
        found: list[JsonValue] = []
        for page in range(_MOST_PAGES):
            path = (
                f"/api/now/table/{table}?sysparm_query={quote(query, safe='')}&sysparm_fields={fields}"
                f"&sysparm_limit={_PAGE}&sysparm_offset={page * _PAGE}"
            )
            answer = await self.api.call("GET", path)
            found += list_at(answer.document, "result")
            total = answer.response.header("x-total-count") or ""
            if not total.isdigit() or (page + 1) * _PAGE >= int(total):
                break
        return found

    def _opened(self, row: JsonValue) -> Opened:
        sys_id = text_at(row, "sys_id")
        if sys_id is None:
            raise PlatformError("unexpected_answer")
        # The record's own page (product documentation, "Navigate to a record or a module using a URL").
        url = f"{self.settings.base_url}/nav_to.do?uri={self.settings.table}.do%3Fsys_id%3D{quote(sys_id, safe='')}"
        return Opened(sys_id, text_at(row, "number") or sys_id, url)
