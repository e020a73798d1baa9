"""``headgate approvals watch``: what was typed wrongly is told in the words that were typed."""

import pytest
from click.testing import CliRunner

from headgate.cli.main import headgate


@pytest.mark.parametrize("since", ["x", "-1", "²", "1" * 19], ids=["letter", "negative", "exponent", "long"])
def test_an_event_id_that_is_none_is_told_of_its_option(since: str) -> None:
    ended = CliRunner().invoke(headgate, ["approvals", "watch", "--since", since])
    assert ended.exit_code == 2
    assert "Invalid value for '--since': an event id is a number" in ended.output
    assert "Last-Event-ID" not in ended.output
