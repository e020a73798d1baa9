"""Syslog messages: RFC 5424, framed by octet counting (RFC 6587, section 3.4.1; RFC 5425, section 4.3)."""

from datetime import UTC, datetime
from typing import Final

_LOG_AUDIT: Final = 13  # facility, RFC 5424, section 6.2.1, table 1
_WARNING: Final = 4
_NOTICE: Final = 5
_INFORMATIONAL: Final = 6
_SEVERITY_OF_OCSF: Final = {1: _INFORMATIONAL, 2: _NOTICE, 3: _NOTICE, 4: _WARNING, 5: _WARNING}
_MSGID_CHARACTERS: Final = 32
_HOST_CHARACTERS: Final = 255


def message(*, host: str, event_type: str, at: datetime, severity_id: int, text: str) -> bytes:
    """One message. ``severity_id`` is OCSF's; ``text`` is ASCII, so that no byte order mark is due (section 6.4)."""
    priority = _LOG_AUDIT * 8 + _SEVERITY_OF_OCSF.get(severity_id, _INFORMATIONAL)
    stamp = at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    head = f"<{priority}>1 {stamp} {_word(host, _HOST_CHARACTERS)} headgate - {_word(event_type, _MSGID_CHARACTERS)} - "
    return head.encode("ascii") + text.encode("ascii")


def framed(one: bytes) -> bytes:
    """``MSG-LEN SP SYSLOG-MSG``."""
    return b"%d " % len(one) + one


def _word(text: str, most: int) -> str:
    """PRINTUSASCII, or the nil value."""
    return "".join(letter for letter in text if "!" <= letter <= "~")[:most] or "-"
