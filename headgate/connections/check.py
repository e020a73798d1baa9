"""Whether a connection works: its platform is asked for something that only reads, with the credential.

Asked by a person (test) and by the worker, every quarter of an hour and soon after a 401. What the platform refuses is
broken from then on, and its owner is told; what does not answer stays as it is, for nothing is known.
"""

from enum import StrEnum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from headgate.audit.change import Change
from headgate.audit.model import SYSTEM, Actor, EventType
from headgate.connections.credential import CertificateCredential
from headgate.connections.errors import BrokenConnectionError
from headgate.connections.model import Connection, ConnectionStatus
from headgate.connections.open_credential import OpenCredentials
from headgate.connections.platforms import find_platform
from headgate.connections.refresh import break_connection
from headgate.connections.service import CHECK_EVERY, record
from headgate.connections.store import get_connection, save_connection
from headgate.db import database
from headgate.kernel.canonical_json import parse_strict
from headgate.kernel.clock import Clock
from headgate.kernel.errors import ValidationError
from headgate.organizations.change import OrganizationChange, begin_change
from headgate.organizations.destinations import DestinationRules
from headgate.organizations.stored_rules import destination_rules
from headgate.outgoing.client import OutgoingClient
from headgate.outgoing.model import OutgoingError, OutgoingLimits, OutgoingRequest, OutgoingResponse
from headgate.protocols.http_call import HttpCall

_LIMITS: Final = OutgoingLimits(deadline_seconds=10.0, response_max_bytes=256 * 1024)


class CheckOutcome(StrEnum):
    """``UNKNOWN``: nobody could be asked."""

    WORKS = "works"
    REFUSED = "refused"
    UNKNOWN = "unknown"


class Check(Struct, frozen=True):
    """``message`` is for people, and holds nothing that the platform has written."""

    outcome: CheckOutcome
    message: str
    status: int | None = None
    latency_ms: float | None = None


class CheckConnection:
    """Of one process."""

    def __init__(self, db: database.Database, opened: OpenCredentials, client: OutgoingClient, clock: Clock) -> None:
        self._database = db
        self._opened = opened
        self._client = client
        self._clock = clock

    async def check(self, org_id: str, connection_id: str, *, actor: Actor = SYSTEM) -> Check:
        """Durable when this returns. Raises NotFoundError, UnavailableError."""
        async with self._database.transaction(org_id) as db:
            connection = await get_connection(db, org_id, connection_id)
            rules = await destination_rules(db, org_id)
        if connection.status is ConnectionStatus.PENDING:
            return Check(CheckOutcome.UNKNOWN, "nobody has consented yet")
        found = await self._ask(connection, rules)
        async with begin_change(self._database, Change(org_id, actor, None, self._clock())) as change:
            await self._settle(change, connection, found)
        return found

    async def _ask(self, connection: Connection, rules: DestinationRules) -> Check:
        path = connection.settings.get("check_path")
        if not isinstance(path, str):
            return Check(CheckOutcome.UNKNOWN, "it names no check_path: nothing can be asked without doing something")
        try:
            # One that is broken is asked as well: a platform may take the credential again.
            response = await self.read(replace(connection, status=ConnectionStatus.ACTIVE), path, rules)
        except BrokenConnectionError as error:
            return Check(CheckOutcome.REFUSED, error.message)
        except OutgoingError as error:
            return Check(CheckOutcome.UNKNOWN, error.message)
        latency = round(response.latency_ms, 1)
        if response.status in (401, 403):
            return Check(CheckOutcome.REFUSED, f"{path} was answered with {response.status}", response.status, latency)
        if response.status >= 400:
            message = f"{path} was answered with {response.status}"
            return Check(CheckOutcome.UNKNOWN, message, response.status, latency)
        if _says_no(response):
            message = f"{path} was answered with 200, and in its body that the credential is not taken"
            return Check(CheckOutcome.REFUSED, message, response.status, latency)
        return Check(CheckOutcome.WORKS, "the platform takes the credential", response.status, latency)

    async def read(self, connection: Connection, path: str, rules: DestinationRules) -> OutgoingResponse:
        """A GET with the credential, its echoes masked. Raises BrokenConnectionError, OutgoingError."""
        async with self._database.transaction(connection.org_id) as db:
            carried = await self._opened.open_in(db, connection, even_broken=True)
        host = connection.hosts[0]
        bare, _, query = path.partition("?")
        wanted = find_platform(connection.platform).check_headers.items()
        headers = (
            (b"accept", b"application/json"),
            *((name.encode("ascii"), value.encode("ascii")) for name, value in wanted),
        )
        call = HttpCall("GET", "https", host.host, host.port, bare, query, headers, b"")
        certificate = carried.credential if isinstance(carried.credential, CertificateCredential) else None
        response = await self._client.send(_request(carried.written(call, self._clock())), rules, _LIMITS, certificate)
        return replace(response, body=carried.mask.mask(response.body))

    async def _settle(self, change: OrganizationChange, asked: Connection, found: Check) -> None:
        now_is = await get_connection(change.connection, change.org_id, asked.connection_id, lock=True)
        checked = replace(now_is, checked_at=change.at, check_at=change.at + CHECK_EVERY)
        if now_is.secret_version != asked.secret_version or found.outcome is CheckOutcome.UNKNOWN:
            # It has another credential by now, or nothing is known.
            await save_connection(change.connection, checked)
        elif found.outcome is CheckOutcome.REFUSED:
            await break_connection(change, checked, found.message)
        elif now_is.status is ConnectionStatus.BROKEN:
            after = replace(
                checked, status=ConnectionStatus.ACTIVE, status_reason=None, failures=0, revision=checked.revision + 1
            )
            await save_connection(change.connection, after)
            await change.raise_generation()
            await record(change, EventType.CONNECTION_RECOVERED, after)
        else:
            await save_connection(change.connection, replace(checked, failures=0, status_reason=None))


def _request(call: HttpCall) -> OutgoingRequest:
    host = f"[{call.host}]" if ":" in call.host else call.host
    authority = host if call.port == 443 else f"{host}:{call.port}"
    query = f"?{call.query}" if call.query else ""
    headers = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in call.headers)
    return OutgoingRequest(call.method, f"https://{authority}{call.path}{query}", headers, call.body)


def _says_no(response: OutgoingResponse) -> bool:
    """Slack answers 200 with ``ok: false``."""
    try:
        body = parse_strict(response.body)
    except ValidationError:
        return False
    return isinstance(body, dict) and body.get("ok") is False
