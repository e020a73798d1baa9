"""Credentials of a known form in the cookies of a call. Agents sign in with cookies, so policies except the field; a
token of GitHub or the address of a database with its password is the session of no web site (MITRE ATT&CK T1041).
"""

from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote_to_bytes

from regorus import as_text, from_base64, from_hexadecimal

from headgate.detectors.document import SEPARATOR
from headgate.detectors.limits import Budget
from headgate.detectors.model import GapReason
from headgate.detectors.secrets import GENERIC, find_secrets
from headgate.kernel.canonical_json import JsonObject

CREDENTIAL_IN_COOKIE: Final = "credential_in_cookie"
_SESSIONS: Final = frozenset((*GENERIC, "json_web_token", "jwt", "jwt_base64"))
_SURE: Final = 0.7
_TEXTS_MAX: Final = 512
_LENGTH_MIN: Final = 12
_DECODED_LENGTH_MAX: Final = 16_384
_JSON_STARTS: Final = (b"{", b"[")


def cookies_with_credentials(http: JsonObject, budget: Budget) -> Iterator[str]:
    """The texts of cookies that are, or encode, a credential of a vendor."""
    texts = _cookie_texts(http)
    if len(texts) > _TEXTS_MAX:
        budget.note(GapReason.VALUES, f"more than {_TEXTS_MAX} texts in cookies")
        texts = texts[:_TEXTS_MAX]
    if not texts:
        return
    readings = [(text, reading) for text in texts for reading in _readings(text)]
    starts, parts, size = list[int](), list[bytes](), 0
    for _, reading in readings:
        starts.append(size)
        parts.append(reading)
        size += len(reading) + len(SEPARATOR)
    found = set[str]()
    for match in find_secrets(SEPARATOR.join(parts), budget):
        if match.kind in _SESSIONS or match.confidence < _SURE:
            continue
        text = next(
            text for (text, _), start in zip(reversed(readings), reversed(starts), strict=True) if start <= match.start
        )
        if text not in found:
            found.add(text)
            yield text


def _cookie_texts(http: JsonObject) -> list[str]:
    """``http.sent.cookie``: see ``JudgedContent.by_field``."""
    sent = http.get("sent")
    cookies = sent.get("cookie") if isinstance(sent, dict) else None
    listed = cookies if isinstance(cookies, list) else []
    return [one for one in listed if isinstance(one, str) and len(one) >= _LENGTH_MIN]


def _readings(text: str) -> Iterator[bytes]:
    """As it stands, and decoded. JSON in a cookie is the web site's own: it holds the tokens that it gave."""
    raw = unquote_to_bytes(text)
    yield raw
    if len(raw) > _DECODED_LENGTH_MAX:
        return
    bare = raw.rstrip(b"=")
    for decoded in (from_hexadecimal(bare), from_base64(bare[: len(bare) - (len(bare) % 4 == 1)])):
        if decoded is not None and as_text(decoded) is not None and not decoded.startswith(_JSON_STARTS):
            yield decoded
