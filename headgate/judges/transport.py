"""One exchange with a provider: bounded in time and size, retried once where the provider asks for that."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from headgate.judges.model import CONNECT_SECONDS, DEADLINE_SECONDS, Failure, JudgeError
from headgate.judges.wire import WireRequest
from headgate.kernel.canonical_json import JsonObject, canonical_bytes, parse_strict
from headgate.kernel.errors import ValidationError
from headgate.kernel.public_roots import public_roots
from headgate.organizations.destinations import DestinationRules
from headgate.outgoing.client import OutgoingClient
from headgate.outgoing.model import OutgoingError, OutgoingFailure, OutgoingLimits, OutgoingRequest, OutgoingResponse
from headgate.outgoing.resolver import SystemResolver
from headgate.outgoing.retry_after import retry_after_seconds
from headgate.outgoing.upstream_proxy import UpstreamProxy

_LIMITS: Final = OutgoingLimits(connect_seconds=CONNECT_SECONDS, response_max_bytes=256 * 1024)
_RETRY_PAUSE_SECONDS: Final = 0.1
_OK: Final = 200
_TOO_MANY: Final = 429
_FORM_UNKNOWN: Final = frozenset((400, 404, 405, 415, 422, 501))


@dataclass(frozen=True, slots=True)
class FormRefusedError(Exception):
    """The provider does not know what was asked for; another form may do."""

    status: int


@asynccontextmanager
async def open_client(
    roots: ssl.SSLContext | None = None, proxy: UpstreamProxy | None = None
) -> AsyncIterator[OutgoingClient]:
    """For all judges of a process; ``roots`` None: the public ones."""
    resolver = SystemResolver()
    client = OutgoingClient(roots or public_roots(), resolver, proxy)
    try:
        yield client
    finally:
        client.close()
        resolver.close()


async def exchange(client: OutgoingClient, request: WireRequest, rules: DestinationRules, owner: str) -> JsonObject:
    """The provider's answer as JSON. The caller bounds the time; only requests of the same ``owner`` share a
    connection. Raises JudgeError, FormRefusedError."""
    try:
        return await _once(client, request, rules, owner)
    except JudgeError as error:
        pause = _pause(error)
        if pause is None:
            raise
    await asyncio.sleep(pause)
    return await _once(client, request, rules, owner)


def _pause(error: JudgeError) -> float | None:
    if error.failure not in (Failure.RATE_LIMITED, Failure.PROVIDER_ERROR):
        return None
    pause = float(error.retry_after_seconds or _RETRY_PAUSE_SECONDS)
    return pause if pause < DEADLINE_SECONDS else None


async def _once(client: OutgoingClient, request: WireRequest, rules: DestinationRules, owner: str) -> JsonObject:
    headers = {"content-type": "application/json", "accept": "application/json", **request.headers}
    outgoing = OutgoingRequest("POST", request.url, tuple(headers.items()), canonical_bytes(request.body))
    try:
        answer = await client.send(outgoing, rules, _LIMITS, kept_for=owner)
    except OutgoingError as error:
        raise _unanswered(error) from error
    if answer.status != _OK:
        raise _refusal(answer)
    if answer.is_truncated:
        raise JudgeError(Failure.MALFORMED_ANSWER, f"the provider's answer is over {_LIMITS.response_max_bytes} bytes")
    try:
        document = parse_strict(answer.body)
    except ValidationError as error:
        raise JudgeError(Failure.MALFORMED_ANSWER, "the provider's answer is not JSON") from error
    if not isinstance(document, dict):
        raise JudgeError(Failure.MALFORMED_ANSWER, "the provider's answer is not an object")
    return document


def _unanswered(error: OutgoingError) -> JudgeError:
    if error.failure is OutgoingFailure.CONNECT_TIMEOUT:
        return JudgeError(Failure.TIMEOUT, "the provider did not take the connection in time")
    if error.failure is OutgoingFailure.BLOCKED:
        return JudgeError(
            Failure.UNREACHABLE,
            "the provider's address is private, and the operator of this installation has not opened it to the"
            " organization (headgate org private-destinations)",
        )
    return JudgeError(Failure.UNREACHABLE, f"the provider cannot be reached ({error.failure.value})")


def _refusal(answer: OutgoingResponse) -> Exception:
    status = answer.status
    if status in (401, 403):
        return JudgeError(Failure.UNAUTHORIZED, f"the provider refused the key ({status})")
    if status in _FORM_UNKNOWN:
        return FormRefusedError(status)
    limited = status == _TOO_MANY
    error = JudgeError(
        Failure.RATE_LIMITED if limited else Failure.PROVIDER_ERROR if status >= 500 else Failure.REFUSED,
        f"the provider answered {status}",
    )
    after = retry_after_seconds(answer)
    if after is not None:
        error.retry_after_seconds = int(after)
    return error
