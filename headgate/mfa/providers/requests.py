"""How the adapters speak to a provider: one deadline, JSON, and one kind of failure."""

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

import httpx

from headgate.kernel.errors import UnavailableError

TIMEOUT_SECONDS: Final = 10.0
_MOST_BYTES: Final = 1024 * 1024


async def ask(
    client: httpx.AsyncClient,
    provider: str,
    method: str,
    url: str,
    *,
    headers: Mapping[str, str],
    accepted: frozenset[int] = frozenset(),
    **rest: Any,
) -> httpx.Response:
    """An answer of 2xx, or of a status in ``accepted``. Raises UnavailableError, which names neither key nor body."""
    try:
        answer = await client.request(method, url, headers=dict(headers), timeout=TIMEOUT_SECONDS, **rest)
    except httpx.HTTPError as error:
        raise UnavailableError(
            f"the identity provider ({provider}) does not answer. Nothing was consumed. Try again.",
            retry_after_seconds=5,
        ) from error
    if not answer.is_success and answer.status_code not in accepted:
        raise UnavailableError(
            f"the identity provider ({provider}) answered {answer.status_code} to {method}. Nothing was"
            " consumed. An administrator can check the settings HEADGATE_MFA_PROVIDER_*.",
            retry_after_seconds=5,
        )
    return answer


def entries(answer: httpx.Response, provider: str, member: str | None = None) -> list[dict[str, Any]]:
    """The list of objects in an answer, itself or one of its members. Raises UnavailableError."""
    try:
        document = answer.json() if len(answer.content) <= _MOST_BYTES else None
    except ValueError:
        document = None
    found = document.get(member) if member is not None and isinstance(document, dict) else document
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise UnavailableError(f"the identity provider ({provider}) did not answer with a list")
    return found


def segment(text: object) -> str:
    """An identifier as one segment of a path, whatever it holds. Raises UnavailableError for none, and for dots, which
    would make it another address (RFC 3986, section 5.2.4)."""
    if text in (None, "", ".", ".."):
        raise UnavailableError("the identity provider returned an invalid identifier")
    return quote(str(text), safe="")
