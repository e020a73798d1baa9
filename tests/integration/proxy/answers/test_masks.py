"""Answers in which policies replace what they find: the client gets the other body, or none."""

import gzip
import json

import pytest

from headgate.nlp_policies import detector_round
from headgate.nlp_policies.model import OnMatch
from headgate.policies.model import Verdict
from tests.integration.proxy.answers.scripts import (
    CHUNKED,
    MAIL,
    SECRETS,
    TOKEN,
    ask,
    chunk,
    error_of,
    event,
    plain,
    policy,
)

_MASK = {"on_match": OnMatch.MASK}
_MASKED = "[masked: email]"


async def test_what_is_found_is_replaced_and_the_rest_is_as_it_came(inspect, answer) -> None:
    running = await inspect(policy(**_MASK))
    body = f'{{"owner": "{MAIL}", "more" : ["{MAIL} x"] }}'.encode()
    received, raw, completion = await ask(running, answer, plain(body, "content-type: application/json", 'etag: "1"'))
    wanted = body.replace(MAIL.encode(), _MASKED.encode())
    assert (received.status, received.body, "etag" in received.headers) == (200, wanted, False)
    assert received.headers["content-length"] == str(len(wanted))
    assert MAIL.encode() not in raw
    inspection = completion.inspection
    assert (inspection["withheld"], inspection["masked"]["count"], inspection["masked"]["kinds"]) == (
        False,
        2,
        ["email"],
    )
    assert [entry["decision"] for entry in inspection["nlp"]] == ["mask"]
    assert completion.size_bytes == len(body)


async def test_a_chunked_text_is_replaced(inspect, answer) -> None:
    running = await inspect(policy(**_MASK))
    script = [CHUNKED + b"text/plain\r\n\r\n", chunk(b"write to "), chunk(MAIL.encode()), b"0\r\n\r\n"]
    received, raw, _ = await ask(running, answer, *script)
    assert (received.status, received.body) == (200, chunk(f"write to {_MASKED}".encode()) + b"0\r\n\r\n")
    assert MAIL.encode() not in raw


async def test_two_policies_replace_together(inspect, answer) -> None:
    running = await inspect(policy(**_MASK), policy("No secrets", model="secrets", **_MASK))
    received, raw, _ = await ask(running, answer, plain(f"{MAIL} has {TOKEN}".encode()))
    assert received.body == f"{_MASKED} has [masked: github_token]".encode()
    assert TOKEN.encode() not in raw


ENCODED = f"see {MAIL.encode().hex()} and {MAIL}"


@pytest.mark.parametrize(
    "script",
    [
        plain(gzip.compress(MAIL.encode()), "content-encoding: gzip"),
        plain(ENCODED.encode()),
        plain(MAIL.encode(), f"x-owner: {MAIL}"),
        plain(MAIL.encode(), "content-digest: sha-256=:x:"),
        plain(MAIL.encode(), "content-md5: x"),
        plain(json.dumps({MAIL: MAIL}).encode()),
        plain(MAIL.encode("utf-16le"), "content-type: text/plain; charset=utf-16le"),
        plain(MAIL.encode(), "content-range: bytes 0-4/10", status="206 Partial Content"),
        plain(MAIL.encode() + bytes(range(256)), "content-type: image/png"),
    ],
)
async def test_what_cannot_be_replaced_in_place_is_withheld(inspect, answer, script) -> None:
    running = await inspect(policy(**_MASK))
    received, raw, completion = await ask(running, answer, script)
    error_of(received)
    assert MAIL.encode() not in raw
    assert completion.inspection["withheld"] is True
    assert "masked" not in completion.inspection


async def test_a_stream_is_cut(inspect, answer) -> None:
    running = await inspect(policy(**_MASK))
    _, raw, completion = await ask(running, answer, CHUNKED + b"text/event-stream\r\n\r\n", event(f"to {MAIL}"))
    assert MAIL.encode() not in raw
    assert completion.inspection["withheld"] is True


async def test_another_policy_still_withholds(inspect, answer) -> None:
    running = await inspect(policy(**_MASK), SECRETS)
    received, raw, _ = await ask(running, answer, plain(f"{MAIL} has {TOKEN}".encode()))
    assert "No secrets" in error_of(received)["message"]
    assert TOKEN.encode() not in raw and MAIL.encode() not in raw


async def test_the_beginning_of_a_large_answer_is_not_replaced(inspect, answer) -> None:
    running = await inspect(policy(on_unscannable=Verdict.ALLOW, **_MASK))
    script = [CHUNKED + b"text/plain\r\n\r\n", chunk(MAIL.encode()), *[chunk(b" x" * 25_000)] * 8, b"0\r\n\r\n"]
    received, raw, _ = await ask(running, answer, *script)
    error_of(received)
    assert MAIL.encode() not in raw


@pytest.mark.parametrize("failing", [1, 2])
async def test_a_detector_that_raises_lets_nothing_through(inspect, answer, monkeypatch, failing: int) -> None:
    """At the first look, and at the one that follows the replacement."""
    looks = 0
    assess = detector_round.AssessedContent.assess

    def explode(content, query):
        nonlocal looks
        looks += 1
        if looks >= failing:
            raise RuntimeError("a defect")
        return assess(content, query)

    monkeypatch.setattr(detector_round.AssessedContent, "assess", explode)
    running = await inspect(policy(**_MASK))
    received, raw, _ = await ask(running, answer, plain(MAIL.encode()))
    error_of(received)
    assert looks == failing
    assert MAIL.encode() not in raw
