"""One exchange with a provider: bounded in time and size, retried once where the provider asks for that."""

import asyncio
from dataclasses import dataclass
from typing import Final

import httpx

from headgate.judges.model import CONNECT_SECONDS, DEADLINE_SECONDS, Failure, JudgeError
from headgate.judges.wire import WireRequest
from headgate.kernel.canonical_json import JsonObject, canonical_bytes, parse_strict
from headgate.kernel.errors import ValidationError
from headgate.kernel.public_roots import public_roots
from headgate.kernel.retry_after import seconds_of

_ANSWER_MAX_BYTES: Final = 256 * 1024
_RETRY_PAUSE_SECONDS: Final = 0.1
_TOO_MANY: Final = 429
_FORM_UNKNOWN: Final = frozenset((400, 404, 405, 415, 422, 501))


@dataclass(frozen=True, slots=True)
class FormRefusedError(Exception):
    """The provider does not know what was asked for; another form may do."""

    status: int


def open_client(*, connections: int = 32) -> httpx.AsyncClient:
    """For all judges of a process. No proxy of the environment: the gate does not call through itself."""
    return httpx.AsyncClient(
        verify=public_roots(),
        trust_env=False,
        follow_redirects=False,
        timeout=httpx.Timeout(None, connect=CONNECT_SECONDS),
        limits=httpx.Limits(max_connections=connections, max_keepalive_connections=connections),
    )


async def exchange(client: httpx.AsyncClient, request: WireRequest) -> JsonObject:
    """The provider's answer as JSON. The caller bounds the time. Raises JudgeError, FormRefusedError."""
    try:
        return await _once(client, request)
    except JudgeError as error:
        pause = _pause(error)
        if pause is None:
            raise
    await asyncio.sleep(pause)
    return await _once(client, request)


def _pause(error: JudgeError) -> float | None:
    if error.failure not in (Failure.RATE_LIMITED, Failure.PROVIDER_ERROR):
        return None
    pause = float(error.retry_after_seconds or _RETRY_PAUSE_SECONDS)
    return pause if pause < DEADLINE_SECONDS else None


async def _once(client: httpx.AsyncClient, request: WireRequest) -> JsonObject:
    headers = {"content-type": "application/json", "accept": "application/json", **request.headers}
    try:
        async with client.stream(
            "POST", request.url, content=canonical_bytes(request.body), headers=headers
        ) as response:
            body = await _bounded(response)
    except httpx.TimeoutException as error:
        raise JudgeError(Failure.TIMEOUT, "the provider did not take the connection in time") from error
    except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
        raise JudgeError(Failure.UNREACHABLE, f"the provider cannot be reached ({type(error).__name__})") from error
    if response.status_code != httpx.codes.OK:
        raise _refusal(response)
    try:
        document = parse_strict(body)
    except ValidationError as error:
        raise JudgeError(Failure.MALFORMED_ANSWER, "the provider's answer is not JSON") from error
    if not isinstance(document, dict):
        raise JudgeError(Failure.MALFORMED_ANSWER, "the provider's answer is not an object")
    return document


async def _bounded(response: httpx.Response) -> bytes:
    body = bytearray()
    async for piece in response.aiter_bytes():
        body += piece
        if len(body) > _ANSWER_MAX_BYTES:
            raise JudgeError(Failure.MALFORMED_ANSWER, f"the provider's answer is over {_ANSWER_MAX_BYTES} bytes")
    return bytes(body)


def _refusal(response: httpx.Response) -> Exception:
    status = response.status_code
    if status in (401, 403):
        return JudgeError(Failure.UNAUTHORIZED, f"the provider refused the key ({status})")
    if status in _FORM_UNKNOWN:
        return FormRefusedError(status)
    limited = status == _TOO_MANY
    error = JudgeError(
        Failure.RATE_LIMITED if limited else Failure.PROVIDER_ERROR if status >= 500 else Failure.REFUSED,
        f"the provider answered {status}",
    )
    after = seconds_of(response.headers.get("retry-after", ""))
    if after is not None:
        error.retry_after_seconds = int(after)
    return error
