"""Answers whose policies let pass what cannot be opened: once their beginning is clear, the rest passes as it comes."""

import asyncio
import gzip
import hashlib
import json
import os

import pytest

from addons import inspection
from addons.inspection import AnswerLimits
from addons.limits import RequestLimits
from addons.verdict import Ending
from headgate.gate.judged_answer import BEGINNING_BYTES
from headgate.policies.model import Verdict
from tests.integration.proxy.answers.scripts import CHUNKED, MAIL, ask, chunk, error_of, plain, policy

LENIENT = policy(on_unscannable=Verdict.ALLOW)
LARGE = b"all of it is plain text\n" * (BEGINNING_BYTES // 12)
_HEAD = CHUNKED + b"text/plain\r\n\r\n"


_NAMED = b"\x1f\x8b\x08\x08" + bytes(6) + b"n" * (2 * BEGINNING_BYTES) + b"\0" + gzip.compress(MAIL.encode())[10:]
"""A file name of megabytes in front of what is compressed (RFC 1952, FNAME)."""


def _chunked(body: bytes, size: int = 49_992) -> list[bytes]:
    return [_HEAD, *(chunk(body[at : at + size]) for at in range(0, len(body), size)), b"0\r\n\r\n"]


@pytest.mark.parametrize("script", [[plain(LARGE)], _chunked(LARGE)], ids=["sized", "chunked"])
async def test_a_large_answer_passes_once_its_beginning_is_clear(inspect, answer, script) -> None:
    running = await inspect(LENIENT)
    received, raw, completion = await ask(running, answer, *script, wait_seconds=30)
    assert (received.status, raw.count(b"plain text")) == (200, LARGE.count(b"plain text"))
    assert (completion.ending, completion.size_bytes) == (Ending.COMPLETE, len(LARGE))
    assert completion.digest == "sha256:" + hashlib.sha256(LARGE).hexdigest()
    [entry] = completion.inspection["nlp"]
    assert (completion.inspection["withheld"], entry["decision"], entry["error"]) == (False, "allow", "unscannable")
    assert "only its first 131072 bytes were inspected" in entry["reasoning"]


@pytest.mark.parametrize("coding", ["", "gzip"])
async def test_a_match_in_the_beginning_withholds_all_of_it(inspect, answer, coding) -> None:
    body = MAIL.encode() + b" " + json.dumps(list(range(200_000))).encode()
    body = gzip.compress(body) if coding else body
    assert len(body) > BEGINNING_BYTES
    running = await inspect(LENIENT)
    received, raw, completion = await ask(
        running, answer, plain(body, *[f"content-encoding: {coding}"] * bool(coding)), wait_seconds=30
    )
    assert "email" in error_of(received)["message"]
    assert completion.inspection["withheld"] is True
    assert body[:100] not in raw


async def test_what_a_coded_answer_begins_with_is_read(inspect, answer) -> None:
    """Small on the wire, and larger than what is inspected."""
    running = await inspect(LENIENT)
    for text, status in ((b"", 200), (MAIL.encode(), 403)):
        body = gzip.compress(text + b"\n" + b"nothing to see " * 100_000)
        received, _, completion = await ask(running, answer, plain(body, "content-encoding: gzip"))
        assert (received.status, completion.inspection["withheld"]) == (status, status == 403)


async def test_a_slow_answer_passes_once_its_beginning_is_clear(
    inspect, answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspection, "IN_PART_SECONDS", 0.3)
    running = await inspect(LENIENT)
    slow = [_HEAD, *[chunk(b"line\n" * 100)] * 60, b"0\r\n\r\n"]
    received, raw, completion = await ask(running, answer, *slow)
    assert (received.status, raw.count(b"line")) == (200, 6000)
    [entry] = completion.inspection["nlp"]
    assert entry["error"] == "unscannable"
    received, raw, completion = await ask(running, answer, _HEAD, chunk(MAIL.encode()), *slow[1:])
    assert "email" in error_of(received)["message"]
    assert b"line" not in raw


async def test_the_deadline_of_an_answer_that_has_ended_disturbs_no_later_one(
    inspect, answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspection, "IN_PART_SECONDS", 0.3)
    running = await inspect(LENIENT)
    running.upstream.scripts[b"/it"] = [plain(b"fine")]
    reader, writer = await running.tunnel()
    for pause in (0.0, 0.0, 0.7, 0.0):
        await asyncio.sleep(pause)
        writer.write(running.get("/it").replace(b"Connection: close\r\n", b""))
        async with asyncio.timeout(30):
            head = answer(await reader.readuntil(b"\r\n\r\n"))
            assert (head.status, await reader.readexactly(int(head.headers["content-length"]))) == (200, b"fine")
    writer.close()
    await running.settled()


async def test_a_server_that_says_nothing_for_long_is_waited_for(
    inspect, answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspection, "IN_PART_SECONDS", 0.1)
    running = await inspect(LENIENT, limits=AnswerLimits(seconds=20))
    silent = [_HEAD, *[chunk(b".")] * 60, chunk(MAIL.encode()), b"0\r\n\r\n"]
    received, raw, _ = await ask(running, answer, *silent, wait_seconds=30)
    assert "email" in error_of(received)["message"]
    assert MAIL.encode() not in raw


@pytest.mark.parametrize(("text", "status"), [(b"part", 206), (MAIL.encode(), 403)])
async def test_a_part_of_something_larger_is_looked_at(inspect, answer, text, status) -> None:
    running = await inspect(LENIENT)
    part = plain(text, f"content-range: bytes 5-{4 + len(text)}/100", status="206 Partial Content")
    received, _, completion = await ask(running, answer, part)
    assert received.status == status
    assert completion.inspection["nlp"][0]["error"] == ("unscannable" if status == 206 else None)


@pytest.mark.parametrize(
    ("script", "why"),
    [
        (plain(b"x", "content-encoding: compress"), "content coding"),
        (plain(b"plain", "content-encoding: gzip"), "not in the content coding"),
        (plain(gzip.compress(b"hello") + gzip.compress(MAIL.encode()), "content-encoding: gzip"), "after its end"),
        (plain(gzip.compress(MAIL.encode())[:20], "content-encoding: gzip"), "ends early"),
        (plain(_NAMED, "content-encoding: gzip"), "hides what it begins with"),
        (plain(b"+AG0-aria", "content-type: text/plain; charset=utf-7"), "character set"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n" + chunk(b"x") + b"0\r\n\r\n", "transfer"),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
async def test_what_hides_its_text_is_withheld_all_the_same(inspect, answer, script, why) -> None:
    running = await inspect(LENIENT)
    received, _, _ = await ask(running, answer, script)
    assert why in error_of(received)["message"]


@pytest.mark.parametrize("limit", [1 << 10, 16 << 10, BEGINNING_BYTES, 1 << 20])
@pytest.mark.parametrize("is_chunked", [True, False])
async def test_a_coding_that_hides_the_beginning_is_withheld_at_any_limit(
    inspect, answer, limit: int, is_chunked: bool
) -> None:
    """The beginning that is collected may be shorter than 128 KiB, and so may what is hidden."""
    running = await inspect(LENIENT, limits=AnswerLimits(body=limit))
    name = b"n" * (min(limit, BEGINNING_BYTES) + BEGINNING_BYTES)  # a read from the server takes 64 KiB
    coded = b"\x1f\x8b\x08\x08" + bytes(6) + name + b"\0" + gzip.compress(MAIL.encode() + LARGE)[10:]
    script = [plain(coded, "content-encoding: gzip")]
    if is_chunked:
        head = CHUNKED + b"text/plain\r\ncontent-encoding: gzip\r\n\r\n"
        script = [head, *(chunk(coded[at : at + 5000]) for at in range(0, len(coded), 5000)), b"0\r\n\r\n"]
    received, raw, _ = await ask(running, answer, *script, wait_seconds=30)
    assert "hides what it begins with" in error_of(received)["message"]
    assert name not in raw


@pytest.mark.parametrize("coding", ["", "gzip"])
async def test_no_more_is_inspected_than_the_limit_says(inspect, answer, coding: str) -> None:
    running = await inspect(LENIENT, limits=AnswerLimits(body=16 << 10))
    body = gzip.compress(os.urandom(40_000).hex().encode()) if coding else LARGE
    received, _, completion = await ask(
        running, answer, plain(body, *[f"content-encoding: {coding}"] * bool(coding)), wait_seconds=30
    )
    assert received.status == 200
    assert "only its first 16384 bytes were inspected" in completion.inspection["nlp"][0]["reasoning"]


async def test_a_whole_answer_is_read_to_its_end(inspect, answer) -> None:
    """Small on the wire; the address stands behind the bytes that would do for a larger one."""
    running = await inspect(LENIENT)
    lines = "".join(f"line {number} of the log\n" for number in range(BEGINNING_BYTES // 10)).encode()
    body = gzip.compress(lines + MAIL.encode())
    received, _, _ = await ask(running, answer, plain(body, "content-encoding: gzip"), wait_seconds=30)
    assert "email" in error_of(received)["message"]


async def test_one_policy_that_objects_to_the_unscannable_is_enough(inspect, answer) -> None:
    running = await inspect(LENIENT, policy("No secrets", model="secrets"), limits=AnswerLimits(body=BEGINNING_BYTES))
    received, _, _ = await ask(running, answer, plain(LARGE))
    assert "larger than" in error_of(received)["message"]


async def test_no_room_for_a_beginning_withholds(inspect, answer) -> None:
    running = await inspect(LENIENT, requests=RequestLimits(buffered=100_000))
    received, _, _ = await ask(running, answer, *_chunked(LARGE))
    assert "as much of other bodies" in error_of(received)["message"]


async def test_no_room_for_what_a_whole_answer_becomes_when_it_is_read(inspect, answer) -> None:
    """A whole one is read to its end: up to a megabyte of text, and its values as objects."""
    running = await inspect(LENIENT, requests=RequestLimits(buffered=20_000_000))
    body = gzip.compress("".join(f"line {number} of the log\n" for number in range(10_000)).encode())
    assert len(body) < BEGINNING_BYTES
    received, _, _ = await ask(running, answer, plain(body, "content-encoding: gzip"))
    assert "as much of other bodies" in error_of(received)["message"]


async def test_a_character_that_is_cut_leaves_text(inspect, answer) -> None:
    """The first bytes end within a character: without it they are text, in which the address is found."""
    body = MAIL.encode() + b"." * (BEGINNING_BYTES - len(MAIL) - 1) + "…".encode() * 10
    running = await inspect(LENIENT)
    received, _, _ = await ask(running, answer, plain(body))
    assert "email" in error_of(received)["message"]
