"""Logs hold no secrets: neither typed ones nor what a third party's message quotes."""

import io
import json
import logging
import sys

import pytest
import structlog

from headgate.configuration.logs import configure_logs, mask_text
from headgate.configuration.settings import read_settings
from headgate.kernel.secrets import Secret


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("key hg_0123456789abcdefghijABCDEFGHIJ0123456789abcdefghi done", "hg_0123456789"),
        ("Invalid header: b'key\\x0ahg_0123456789abcdefghijABCDEFGHIJ0123456789abcdefghi'", "hg_0123456789"),
        ("Authorization: Bearer abcdefghijklmnop", "abcdefghijklmnop"),
        ("Proxy-Authorization: Basic YWdlbnQ6aGdfMTIz", "YWdlbnQ6aGdfMTIz"),
        ("connecting to postgresql://headgate_api:hunter2@/headgate failed", "hunter2"),
        ("token eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJhZG1pbiJ9.c2lnbmF0dXJl", "c2lnbmF0dXJl"),
        ("ghp_0123456789abcdefghijklmnopqrstuvwxyz", "ghp_01234"),
        ("AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE"),
        ("https://hooks.slack.com/services/T0123456/B0123456/abcdefghijklmnop0123", "abcdefghijklmnop0123"),
        ("npm_0123456789abcdefghijklmnopqrstuvwxyz", "npm_01234"),
        ("-----BEGIN EC PRIVATE KEY-----\nMHcCAQ\n-----END EC PRIVATE KEY-----", "MHcCAQ"),
    ],
)
def test_what_looks_like_a_credential_is_masked(text: str, secret: str) -> None:
    assert secret not in mask_text(text)
    assert "[masked]" in mask_text(text)


@pytest.mark.parametrize(
    "text", ["GET /v1/actions?limit=20", "postgresql://db/headgate", "act_01923f", "a basic check"]
)
def test_ordinary_text_stays(text: str) -> None:
    assert mask_text(text) == text


def test_every_way_into_the_log_is_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.StringIO()
    monkeypatch.setattr(sys, "stderr", written)
    root = logging.getLogger()
    before, level = list(root.handlers), root.level
    try:
        configure_logs(read_settings({"HEADGATE_LOG_FORMAT": "json"}))
        log = structlog.get_logger("test")
        log.info("typed", key=Secret("hunter2"), nested={"a": [Secret("hunter2")]})
        logging.getLogger("third.party").warning("GET with Bearer %s", "hunter2hunter2")
        try:
            raise ValueError("postgresql://u:hunter2@db")
        except ValueError:
            log.exception("failed")
    finally:
        root.handlers[:] = before
        root.setLevel(level)
        structlog.reset_defaults()
    lines = [json.loads(line) for line in written.getvalue().splitlines()]
    assert "hunter2" not in written.getvalue()
    assert [line["event"] for line in lines] == ["typed", "GET with Bearer [masked]", "failed"]
    assert lines[0]["level"] == "info"
    assert "ValueError" in lines[2]["exception"]
