"""What ``headgate join`` says before it asks for a key."""

import pytest
from click.testing import CliRunner

from headgate.cli.join import join


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("gate.example.com", "https://HOST or http://HOST:PORT is expected"),
        ("http://gate.example.com", "is not encrypted"),
        ("https://gate.example.com", "The agent's key is missing. Give it with --key -"),
    ],
)
def test_the_address_is_checked_first_and_scripts_are_not_prompted(
    monkeypatch: pytest.MonkeyPatch, url: str, says: str
) -> None:
    monkeypatch.delenv("HEADGATE_AGENT_KEY", raising=False)
    done = CliRunner().invoke(join, [url])
    assert done.exit_code != 0
    assert says in done.output + str(done.exception)
    assert "Key:" not in done.output
