"""A list of nothing says so, and what would put something on it."""

import json

import pytest

from headgate.cli.main import headgate
from tests.http_server import http_server


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (("traffic", "list"), "no exchanges. headgate traffic rules shows what is captured\n"),
        (("traffic", "timeline", "agt_17"), "no exchanges. headgate traffic rules shows what is captured\n"),
        (("connections", "list"), "no connections. Create one with headgate connections add NAME\n"),
        (
            ("nlp", "list"),
            "no content policies. Create one with headgate nlp create NAME --template pii_hold\n",
        ),
        (("integrations", "receipts", "jira"), "none\n"),
        (("notifications", "deliveries"), "none\n"),
    ],
)
def test_a_list_of_nothing(
    words: tuple[str, ...], shown: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    nothing = json.dumps({"data": [], "not_captured": []}).encode()
    with http_server(lambda path, body: (200, "application/json", nothing)) as url:
        monkeypatch.setenv("HEADGATE_API_URL", url)
        monkeypatch.setenv("HEADGATE_TOKEN", "t")
        monkeypatch.delenv("HEADGATE_RUNTIME_FILE", raising=False)
        headgate.main(list(words), prog_name="headgate", standalone_mode=False)
    assert capsys.readouterr() == (shown, "")
