"""RFC 5424 messages and their octet-counted frames."""

import re
from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from headgate.siem.syslog import framed, message

# RFC 5424, section 6: HEADER SP STRUCTURED-DATA SP MSG.
_MESSAGE = re.compile(
    rb"<(\d{1,3})>1 (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z) ([!-~]{1,255}) (headgate) (-) ([!-~]{1,32}) (-) (.*)"
)


def test_a_message() -> None:
    at = datetime(2026, 11, 21, 12, 0, tzinfo=timezone(timedelta(hours=2)))
    made = message(host="gate-1", event_type="decision.made", at=at, severity_id=4, text='{"a":1}')
    assert made == b'<108>1 2026-11-21T10:00:00.000000Z gate-1 headgate - decision.made - {"a":1}'
    assert framed(made) == b"76 " + made


@given(host=st.text(max_size=300), event_type=st.text(max_size=80), severity_id=st.integers(-5, 200))
def test_every_message_can_be_parsed(host: str, event_type: str, severity_id: int) -> None:
    made = message(host=host, event_type=event_type, at=datetime.now(UTC), severity_id=severity_id, text="{}")
    found = _MESSAGE.fullmatch(made)
    assert found is not None
    assert int(found[1]) // 8 == 13
    assert found[8] == b"{}"
