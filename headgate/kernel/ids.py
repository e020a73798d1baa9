"""Identifiers: a type prefix, an underscore and a UUIDv7 (RFC 9562, section 5.7).

They are opaque to clients and text everywhere, in the database too, so that a log line, a row and an
answer show the same identifier.
"""

import json
import os
import re
import time
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from headgate.kernel.errors import NotFoundError, ValidationError

_UUID: Final = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_ID: Final = re.compile(rf"([a-z]{{3}})_({_UUID})")
_BARE_UUID: Final = re.compile(_UUID)


class IdPrefix(StrEnum):
    ACTION = "act"
    EXECUTION = "exe"
    APPROVAL = "apr"
    EVENT = "evt"
    POLICY = "pol"
    AGENT = "agt"
    KEY = "key"
    ORGANIZATION = "org"
    USER = "usr"
    INSTANCE = "ins"
    REPLAY = "rpl"
    NLP_POLICY = "nlp"
    GRANT = "grt"
    BREAK_GLASS = "brk"
    ABSENCE = "abs"
    WEBHOOK = "whk"
    DELIVERY = "dlv"
    CONNECTION = "con"
    LEGAL_HOLD = "hld"
    REPORT = "rep"
    EXCHANGE = "exc"
    SESSION = "ses"
    INVITATION = "inv"
    PASSKEY = "psk"
    MCP_TOOL = "mct"
    BACKUP = "bkp"
    CANARY = "can"


def new_id(prefix: IdPrefix) -> str:
    """A new identifier; those of one process sort by the millisecond of their making."""
    value = (time.time_ns() // 1_000_000 << 80) | int.from_bytes(os.urandom(10))
    # Version 7 in bits 48-51 and variant 10 in bits 64-65 (RFC 9562, figure 11).
    value = value & ~(0xF << 76) | 7 << 76
    value = value & ~(0x3 << 62) | 2 << 62
    digits = f"{value:032x}"
    return f"{prefix}_{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def earliest_id(prefix: IdPrefix, moment: datetime, apart: timedelta = timedelta()) -> str:
    """What sorts at or before every identifier of this type that is made at ``moment + apart`` or later.

    The sum is made of seconds: a client may ask for 9999-12-31, after which there is no ``datetime``.
    """
    digits = f"{max(int((moment.timestamp() + apart.total_seconds()) * 1000), 0):012x}"
    return f"{prefix}_{digits[:8]}-{digits[8:12]}"


def id_pattern(prefix: IdPrefix) -> str:
    """The regular expression of what ``parse_id`` reads, as JSON Schema writes it (ECMA-262)."""
    return f"^({prefix}_)?{_UUID}$"


def full_id(prefix: IdPrefix, text: str) -> str:
    """``text`` with the prefix where it is a bare UUID, else as it is: where names of other forms may stand too."""
    return text if _BARE_UUID.fullmatch(text) is None else f"{prefix}_{text}"


def parse_id(prefix: IdPrefix, text: str, field: str | None = None) -> str:
    """``text`` as an identifier of this type; the bare UUID, as the schemas declare it, is accepted too.

    Raises ValidationError, which names ``field``.
    """
    match = _ID.fullmatch(text)
    if match is not None and match[1] == prefix:
        return text
    if _BARE_UUID.fullmatch(text) is not None:
        return f"{prefix}_{text}"
    reason = f"{json.dumps(text[:64])} is not an identifier of this type: expected {prefix}_ and a UUID in lower case"
    details: dict[str, object] = {"expected_prefix": f"{prefix}_", "got": text[:64]}
    if field is None:
        raise ValidationError(reason, details=details)
    raise ValidationError(f"{field}: {reason}", details={"field": field, "reason": reason, **details})


def addressed_id(prefix: IdPrefix, text: str) -> str:
    """``parse_id`` for an identifier in a path. Raises NotFoundError for a malformed one."""
    try:
        return parse_id(prefix, text)
    except ValidationError as error:
        raise NotFoundError(error.message) from error
