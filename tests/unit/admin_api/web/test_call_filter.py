"""The filter language of the calls."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admin_api.web.call_filter import CallFilter, moment_of, parse_call_filter
from headgate.actions.model import ActionStatus
from headgate.kernel.errors import ValidationError


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("", CallFilter()),
        ("  ", CallFilter()),
        (
            'agent:"night shift" tool:stripe decision:hold method:POST',
            CallFilter(agent="night shift", tool="stripe", decision="require_approval", method="POST"),
        ),
        ("path~/refunds host:api.stripe.com", CallFilter(path="/refunds", host="api.stripe.com")),
        ("globex invoice 42", CallFilter(text="globex invoice 42")),
        ("https://example.com/a", CallFilter(text="https://example.com/a")),
        ("status:failed timeout", CallFilter(status=ActionStatus.FAILED, text="timeout")),
        ("operation:a:b", CallFilter(operation="a:b")),
        ("since:2h until:2026-11-24T09:30", CallFilter(since="2h", until="2026-11-24T09:30")),
    ],
)
def test_words_and_names(query: str, wanted: CallFilter) -> None:
    assert parse_call_filter(query) == wanted


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("planet:mars", "planet:mars: unknown filter 'planet'"),
        ("tool:a tool:b", "tool:b: tool is given twice"),
        ("path:/a", "path:/a: write path~part"),
        ("host~a", "host~a: write host:value"),
        ("decision:maybe", "decision:maybe: decision must be"),
        ("status:odd", "status:odd: status must be one of"),
        ("since:yesterday", "since:yesterday: expected a date"),
        ('tool:a agent:"night shift', '"night shift: the quote is not closed'),
        ("x" * 1001, "more than 1000 characters"),
    ],
)
def test_what_cannot_be_read_is_named(query: str, said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        parse_call_filter(query)


def test_how_long_ago_is_a_time() -> None:
    now = datetime(2026, 11, 24, 9, 30, tzinfo=UTC)
    assert moment_of("2h", now) == "2026-11-24T07:30:00+00:00"
    assert moment_of("2026-11-24", now) == "2026-11-24"
    assert moment_of(None, now) is None


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(query: str) -> None:
    try:
        parse_call_filter(query)
    except ValidationError as error:
        assert error.message


_VALUE = st.from_regex(r"\A[a-z0-9._/-]{1,20}\Z")


@given(_VALUE, _VALUE, _VALUE)
def test_what_is_written_is_read(agent: str, host: str, path: str) -> None:
    assert parse_call_filter(f"path~{path} agent:{agent} host:{host}") == CallFilter(agent=agent, host=host, path=path)
