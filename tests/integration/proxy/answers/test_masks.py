"""Answers in which policies replace what they find: the client gets the other body, or none."""

import gzip
import hashlib
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
    told = error_of(received)["message"]
    if "206" not in script.decode("latin-1"):  # a part is not inspected
        assert "No addresses: email, which cannot be masked here" in told
    assert MAIL.encode() not in raw
    assert completion.inspection["withheld"] is True
    assert "masked" not in completion.inspection


EVENTS = CHUNKED + b"text/event-stream\r\n\r\n"
STARTED = chunk(b"data: hello\n\n")


def _events(body: bytes) -> bytes:
    """Without the frames of chunks."""
    data = b""
    while body:
        size, _, body = body.partition(b"\r\n")
        data, body = data + body[: int(size, 16)], body[int(size, 16) + 2 :]
    return data


async def test_events_are_replaced_as_they_come_and_the_stream_goes_on(inspect, answer) -> None:
    running = await inspect(policy(**_MASK))
    to_mask = [f"data: to {MAIL}\r\n\r\n", f'id: 3\ndata: {{"n": 1.50,\ndata:  "to": ["{MAIL}", "{MAIL}"]}}\n\n']
    sent = [STARTED, *(chunk(one.encode()) for one in to_mask), chunk(b"data: bye\n\n"), b"0\r\n\r\n"]
    head = CHUNKED + b'text/event-stream\r\netag: "1"\r\n\r\n'
    received, raw, completion = await ask(running, answer, head, *sent)
    wanted = f"data: hello\n\n{''.join(to_mask)}data: bye\n\n".replace(MAIL, _MASKED).encode()
    assert (received.status, _events(received.body), "etag" in received.headers) == (200, wanted, False)
    assert MAIL.encode() not in raw
    inspection = completion.inspection
    assert inspection["masked"] == {
        "count": 3,
        "kinds": ["email"],
        "size_bytes": len(wanted),
        "sha256": "sha256:" + hashlib.sha256(wanted).hexdigest(),
    }
    assert (inspection["withheld"], [one["decision"] for one in inspection["nlp"]]) == (False, ["mask"])
    assert completion.size_bytes == len("data: hello\n\n" + "".join(to_mask) + "data: bye\n\n")


async def test_what_was_replaced_is_not_read_together_with_what_follows(inspect, answer) -> None:
    """Later events are read with those that the client got."""
    running = await inspect(policy(**_MASK), policy("No secrets", model="secrets", **_MASK))
    events = [event(f"{MAIL} has {TOKEN}"), *[event("nothing")] * 3, event(f"{TOKEN} again")]
    received, raw, completion = await ask(running, answer, EVENTS, *events, b"0\r\n\r\n")
    assert received.status == 200
    assert TOKEN.encode() not in raw and MAIL.encode() not in raw
    assert completion.inspection["masked"]["count"] == 3
    assert [one["decision"] for one in completion.inspection["nlp"]] == ["mask", "mask"]


@pytest.mark.parametrize(
    "script",
    [
        [event(f"to {MAIL[:-6]}"), event(MAIL[-6:])],
        [chunk(f"id: {MAIL}\ndata: x\n\n".encode())],
        [chunk(f": {MAIL}\n\n".encode())],
        [chunk(f'data: {{"{MAIL}": 1}}\n\n'.encode())],
        [event(ENCODED)],
        [chunk(f"data: {MAIL}\n\n: {MAIL.encode().hex()}\n\n".encode())],
    ],
    ids=["over events", "identifier", "comment", "name", "encoded", "encoded in a comment"],
)
async def test_a_stream_with_what_cannot_be_replaced_is_cut(inspect, answer, script) -> None:
    running = await inspect(policy(**_MASK))
    received, raw, completion = await ask(running, answer, EVENTS, STARTED, *script, event("bye"), b"0\r\n\r\n")
    assert received.status == 200
    assert MAIL.encode() not in raw and b"bye" not in raw and b"RESPONSE_WITHHELD" in raw
    assert completion.inspection["withheld"] is True
    assert "masked" not in completion.inspection


@pytest.mark.parametrize("kind", ["application/x-ndjson", "text/event-stream; charset=latin1"])
async def test_lines_and_other_character_sets_are_cut(inspect, answer, kind: str) -> None:
    running = await inspect(policy(**_MASK))
    data = f'data: {{"to": "{MAIL}"}}\n\n' if "event" in kind else f'{{"to": "{MAIL}"}}\n'
    _, raw, completion = await ask(running, answer, CHUNKED + kind.encode() + b"\r\n\r\n", chunk(data.encode()))
    assert MAIL.encode() not in raw
    assert completion.inspection["withheld"] is True


@pytest.mark.parametrize("version", ["1.1", "1.0"])
async def test_events_with_a_length_in_their_head_are_replaced(inspect, version: str) -> None:
    """The client gets another length than the one that the server names."""
    running = await inspect(policy(**_MASK))
    body = f"data: hello\n\ndata: {MAIL}\n\n".encode()
    running.upstream.scripts[b"/it"] = [plain(body, "content-type: text/event-stream", 'etag: "1"')]
    asked = running.get("/it").replace(b"HTTP/1.1", f"HTTP/{version}".encode())
    head, _, received = (await running.secure(asked, wait_seconds=2)).partition(b"\r\n\r\n")
    await running.settled()
    wanted = body.replace(MAIL.encode(), _MASKED.encode())
    assert (_events(received) if version == "1.1" else received) == wanted
    assert b"content-length" not in head.lower() and b"etag" not in head.lower()
    [completion] = running.decide.completions
    assert completion.inspection["withheld"] is False
    assert completion.inspection["masked"] == {
        "count": 1,
        "kinds": ["email"],
        "size_bytes": len(wanted),
        "sha256": "sha256:" + hashlib.sha256(wanted).hexdigest(),
    }
    assert completion.size_bytes == len(body)


async def test_a_stream_in_which_another_policy_objects_is_cut(inspect, answer) -> None:
    running = await inspect(policy(**_MASK), SECRETS)
    script = [EVENTS, event(f"to {MAIL}"), event(f"{MAIL} has {TOKEN}")]
    _, raw, completion = await ask(running, answer, *script)
    assert f"data: to {_MASKED}".encode() in raw
    assert TOKEN.encode() not in raw and MAIL.encode() not in raw
    assert completion.inspection["withheld"] is True
    assert completion.inspection["masked"]["count"] == 1


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


@pytest.mark.parametrize("failing", [2, 3, 4])
async def test_a_detector_that_raises_lets_no_event_through(inspect, answer, monkeypatch, failing: int) -> None:
    """After the head: at the first look, at the one for the places, at the one that follows the replacement."""
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
    _, raw, completion = await ask(running, answer, EVENTS, event(f"to {MAIL}"), event("bye"))
    assert MAIL.encode() not in raw and b"bye" not in raw
    assert completion.inspection["withheld"] is True
