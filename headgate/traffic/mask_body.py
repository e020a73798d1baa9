"""One body as it may be kept: decoded, read as text, without secrets and personal data. Pure, and slow: milliseconds.

A body that cannot be read as text is not kept: nobody can say what is in it. One of which the detectors say that they
have not looked at all of it is not kept either. JSON is kept in its canonical form, because it is masked by the names
of its members as well; other texts keep their bytes but for what is masked.
"""

import codecs
import re
from collections import Counter
from collections.abc import Mapping
from typing import Final
from urllib.parse import unquote_plus

from msgspec import Struct, field

from headgate.actions.form_secrets import mask_form_parts
from headgate.actions.masking import default_masker
from headgate.actions.masking_rules import masking_rules
from headgate.detectors.inspect import Detector
from headgate.detectors.limits import Limits
from headgate.detectors.mask import mask_all
from headgate.detectors.model import GapReason
from headgate.detectors.personal_data import find_personal_data
from headgate.detectors.secrets import find_secrets
from headgate.kernel.canonical_json import JsonValue, canonical_bytes, parse_strict
from headgate.kernel.errors import ValidationError
from headgate.kernel.secrets import MASK
from headgate.traffic.decode_body import decode_beginning
from headgate.traffic.mask_events import mask_events

DETECTORS: Final[tuple[Detector, ...]] = (find_secrets, find_personal_data)
DECODED_MAX_BYTES: Final = 512 << 10
_LIMITS: Final = Limits(decoded_factor=6, findings_max=100_000, candidates_floor=20_000, seconds_max=3.0)
_CHARSETS: Final = frozenset({"utf-8", "utf8", "us-ascii", "ascii", "iso-8859-1", "latin1", "windows-1252", "utf-16"})
_CHARSET: Final = re.compile(r"""charset\s*=\s*["']?([A-Za-z0-9_-]{1,40})""", re.IGNORECASE)
_BOUNDARY_BACK: Final = 4096
_BOUNDARIES: Final = re.compile(r"""[\s"'<>,;&{}\[\]]""")
_PAIR: Final = re.compile(r"([^&=;]*)=([^&;]*)")
_LINE: Final = re.compile(r"(data: ?)?(\{.*\}|\[.*\])(\r?)")
# What is masked with what was found is no reason to keep nothing.
_HARMLESS_GAPS: Final = frozenset({GapReason.MASKED})


class NotMaskedError(Exception):
    """What is to be kept cannot be masked wholly; the message says why."""


class MaskedBody(Struct, frozen=True):
    """``text`` None: nothing of it is kept, and ``omitted`` says why. ``decoded_from``: its content coding was taken
    away. ``is_whole``: it is all there. ``masked``: how many places, ``kinds``: what detectors found."""

    text: str | None
    size_bytes: int
    is_whole: bool = True
    decoded_from: str | None = None
    omitted: str | None = None
    masked: int = 0
    kinds: Mapping[str, int] = field(default_factory=dict)


def mask_body(body: bytes, size_bytes: int, *, content_type: str, content_coding: str) -> MaskedBody:
    """``body`` is the beginning of what was ``size_bytes`` long on the wire."""
    coding = content_coding.strip().lower()
    decoded = decode_beginning(body, coding, max_bytes=DECODED_MAX_BYTES)
    if decoded is None:
        return MaskedBody(None, size_bytes, omitted="in a content coding that cannot be read")
    content, is_whole = decoded
    is_whole = is_whole and len(body) == size_bytes
    text = _as_text(content, content_type, is_whole)
    if text is None:
        return MaskedBody(None, size_bytes, omitted="not text")
    if not is_whole:
        text = _until_a_boundary(text)
    try:
        shown, kinds = mask_text(text, content_type.lower(), is_whole=is_whole)
    except NotMaskedError as error:
        return MaskedBody(None, size_bytes, omitted=f"not looked at wholly, and so not kept: {error}")
    return MaskedBody(
        shown,
        size_bytes,
        is_whole=is_whole,
        decoded_from=coding if coding not in ("", "identity") else None,
        masked=shown.count(MASK) - text.count(MASK),
        kinds=kinds,
    )


def mask_text(text: str, content_type: str, *, is_whole: bool) -> tuple[str, Counter[str]]:
    """Raises NotMaskedError."""
    if is_whole and text.lstrip()[:1] in ("{", "["):
        try:
            value = parse_strict(text.encode())
        except ValidationError:
            pass
        else:
            masked, kinds = mask_value(value)
            return canonical_bytes(masked).decode(), kinds
    if "x-www-form-urlencoded" in content_type:
        text = mask_pairs(text)
    elif "multipart/form-data" in content_type:
        text = mask_form_parts(text)
    elif "event-stream" in content_type:
        text = mask_events(text, _mask_line)
    elif "ndjson" in content_type or "jsonl" in content_type:
        text = "\n".join(_mask_line(line) for line in text.split("\n"))
    shown, kinds = mask_value(text)
    return str(shown), kinds


def mask_value(value: JsonValue) -> tuple[JsonValue, Counter[str]]:
    """By names and by the form of credentials first, then by what detectors find. Raises NotMaskedError."""
    masked = mask_all(default_masker().mask_value(value), DETECTORS, _LIMITS)
    if gaps := [gap.detail for gap in masked.gaps if gap.reason not in _HARMLESS_GAPS]:
        raise NotMaskedError("; ".join(gaps))
    return masked.value, Counter(masked.kinds)


def mask_pairs(text: str) -> str:
    """``name=value&…`` without the values of names that say that they are secret."""
    rules = masking_rules()

    def masked(pair: "re.Match[str]") -> str:
        is_secret = bool(pair[2]) and rules.is_secret_name(unquote_plus(pair[1]))
        return f"{pair[1]}={MASK}" if is_secret else pair[0]

    return _PAIR.sub(masked, text)


def _mask_line(line: str) -> str:
    """One that is JSON, alone or as the data of a server-sent event, by its members' names as well."""
    found = _LINE.fullmatch(line)
    if found is None:
        return line
    try:
        value = parse_strict(found[2].encode())
    except ValidationError:
        return line
    shown = canonical_bytes(default_masker().mask_value(value)).decode()
    return f"{found[1] or ''}{shown}{found[3]}"


def _as_text(content: bytes, content_type: str, is_whole: bool) -> str | None:
    named = _CHARSET.search(content_type)
    charset = "utf-8" if named is None else named[1].lower()
    if charset not in _CHARSETS:
        return None
    try:
        text = codecs.getincrementaldecoder(charset)("strict").decode(content, final=is_whole)
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text.removeprefix("\ufeff")


def _until_a_boundary(text: str) -> str:
    """Without what may be the beginning of something: half a credential is not recognised as one."""
    start = max(0, len(text) - _BOUNDARY_BACK)
    ends = [match.start() for match in _BOUNDARIES.finditer(text, start)]
    return text[: ends[-1]] if ends else text[:start]
