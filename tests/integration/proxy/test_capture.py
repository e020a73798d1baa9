"""What the gate keeps of exchanges that pass it: the addon and its queue, with a real spool behind."""

import asyncio
import gzip
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h2.config
import h2.connection
import pytest
from mitmproxy.http import HTTPFlow

from addons.capture import Capture
from addons.http_call import http_call
from addons.inspection import AnswerLimits, Inspection
from addons.verdict import flow_state
from headgate.gate.candidate import candidate_for, read_action
from headgate.gate.inspect_answer import AnswerJudge
from headgate.gate.judged_answer import AnsweredCall
from headgate.gate.masking import NOTHING_TO_MASK, Masking
from headgate.judges.daily_budget import DailyBudgets
from headgate.judges.judge import Judges
from headgate.judges.transport import open_client
from headgate.kernel.clock import system_clock
from headgate.nlp_policies.evaluate import Evaluator
from headgate.nlp_policies.model import OnMatch
from headgate.tools.interpret import interpret
from headgate.tools.load import load_catalogues
from headgate.traffic.mask_exchange import mask_exchange
from headgate.traffic.model import Captured, CaptureLevel, Loss
from headgate.traffic.rules import CaptureRules, parse_capture_rules
from headgate.traffic.spool_reader import ended_processes, finished_segments, lost_with, read_segment
from headgate.traffic.spool_writer import SpoolWriter
from proxy.capture_queue import CaptureQueue
from tests.integration.proxy.answers.scripts import CHUNKED, MAIL, event, plain, policy
from tests.integration.proxy.conftest import Allow, caller_named, parse
from tests.unit.traffic.samples import vault_in

EVERYTHING = parse_capture_rules({"rules": [{"capture": "bodies"}], "body_limit_bytes": 1000})


@dataclass
class AllowAndCapture(Allow):
    """As enforce does, after it has decided."""

    capture: Capture | None = None
    captures: CaptureRules = EVERYTHING
    mark: CaptureLevel | None = None
    judge: AnswerJudge | None = None
    masking: Masking = NOTHING_TO_MASK
    catalogue: Any = field(default_factory=lambda: load_catalogues(None))

    async def request(self, flow: HTTPFlow) -> None:
        await super().request(flow)
        state = flow_state(flow)
        assert self.capture is not None
        identity = caller_named("agt_1").identity
        action = read_action(candidate_for(identity, interpret(http_call(flow), self.catalogue)))
        if self.judge is not None:
            state.inspection = Inspection(
                self.judge, AnswerLimits(), action_id="act_1", mcp_id=None, request_id=state.request_id
            )
        self.capture.begin(
            state,
            self.captures,
            action,
            org_id="org_1",
            mark=self.mark,
            action_id="act_1",
            decision="allow",
            masking=self.masking,
        )


@dataclass
class Kept:
    """A gate that captures; ``exchanges`` waits until nothing is on its way."""

    running: Any
    decide: AllowAndCapture
    queue: CaptureQueue
    folder: Path
    lost: dict[Loss, int]
    vault: Any

    async def exchanges(self) -> list[Captured]:
        await self.running.settled()
        await self.queue.close()
        found: list[Captured] = []
        for path in finished_segments(self.folder):
            found += read_segment(path, self.vault).exchanges
        for process in ended_processes(self.folder):
            assert lost_with(process, {}) == []
        return found


@pytest.fixture
async def start_capturing(start: Any, tmp_path: Path) -> AsyncIterator[Any]:
    tasks: list[asyncio.Task[None]] = []

    async def begin(*, most_bytes: int = 1 << 20, limit_bytes: int = 1 << 24, **changes: Any) -> Kept:
        vault, folder = vault_in(tmp_path), tmp_path / "captures"
        lost: dict[Loss, int] = {}

        def count(cause: Loss, exchanges: int) -> None:
            lost[cause] = lost.get(cause, 0) + exchanges

        writer = SpoolWriter(folder, vault, system_clock, limit_bytes=limit_bytes, lost=count)
        queue = CaptureQueue(writer, most_bytes=most_bytes)
        capture = Capture(queue)
        decide = AllowAndCapture(capture=capture, **changes)
        running = await start(capture, decide=decide)
        tasks.append(asyncio.create_task(queue.keep_writing()))
        return Kept(running, decide, queue, folder, lost, vault)

    yield begin
    for task in tasks:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_plain_exchange(start_capturing: Any) -> None:
    kept = await start_capturing()
    request = kept.running.get("/a?b=1", method="POST", headers="Content-Length: 3\r\nX-Note: yes\r\n", body="abc")
    assert parse(await kept.running.secure(request)).body == b"hello"
    (one,) = await kept.exchanges()
    assert (one.method, one.path, one.status, one.host) == ("POST", "/a?b=1", 200, "127.0.0.1")
    assert (one.request.body, one.request.size_bytes) == (b"abc", 3)
    assert one.response is not None
    assert (one.response.body, one.response.size_bytes) == (b"hello", 5)
    assert (b"X-Note", b"yes") in one.request.headers
    assert one.request.started_at is not None
    assert one.response.ended_at is not None
    assert one.response.ended_at >= one.request.started_at


async def test_of_what_a_policy_masks_the_masked_body_is_kept(start_capturing: Any) -> None:
    kept = await start_capturing(masking=Masking(b"[masked: keyword]", is_complete=True))
    request = kept.running.get("/a", method="POST", headers="Content-Length: 3\r\n", body="abc")
    assert parse(await kept.running.secure(request)).body == b"hello"
    (one,) = await kept.exchanges()
    assert (one.request.body, one.request.size_bytes) == (b"[masked: keyword]", 17)


async def test_of_what_a_policy_could_not_mask_only_the_size_is_kept(start_capturing: Any) -> None:
    kept = await start_capturing(masking=Masking(b"perhaps in part", is_complete=False))
    headers = "Content-Length: 9\r\nX-Note: bluebird\r\n"
    request = kept.running.get("/bluebird?bluebird", method="POST", headers=headers, body="abcdefghi")
    assert parse(await kept.running.secure(request)).body == b"hello"
    (one,) = await kept.exchanges()
    assert (one.path, one.request.headers, one.request.body) == ("/[masked]", (), None)
    assert one.request.size_bytes == 15
    assert mask_exchange(one).omitted == {"request.body": "a content policy masks it, and no masked copy was kept"}


async def test_bodies_that_are_larger_than_is_kept_pass_whole(start_capturing: Any) -> None:
    kept = await start_capturing()
    body = "x" * 50_000
    request = kept.running.get("/large/3000000", method="POST", headers=f"Content-Length: {len(body)}\r\n", body=body)
    answer = parse(await kept.running.secure(request, wait_seconds=20))
    assert len(answer.body) == 3_000_000
    (one,) = await kept.exchanges()
    assert (len(one.request.body or b""), one.request.size_bytes) == (1000, 50_000)
    assert one.response is not None
    assert (len(one.response.body or b""), one.response.size_bytes) == (1000, 3_000_000)


async def test_an_event_stream_passes_piece_by_piece_and_is_kept_at_its_end(start_capturing: Any) -> None:
    kept = await start_capturing()
    reader, writer = await kept.running.tunnel()
    writer.write(kept.running.get("/events"))
    assert b"data: 1" in await reader.readuntil(b"data: 1\n\n")
    kept.running.upstream.gate.set()
    assert b"data: 2" in await reader.read()
    writer.close()
    (one,) = await kept.exchanges()
    assert one.response is not None
    assert one.response.body == b"data: 1\n\ndata: 2\n\n"


async def test_an_answer_that_breaks_off_is_kept_as_far_as_it_came(start_capturing: Any) -> None:
    kept = await start_capturing()
    await kept.running.secure(kept.running.get("/broken"))
    (one,) = await kept.exchanges()
    assert one.error is not None
    assert one.response is not None
    assert one.response.body == b"only this"


async def test_a_server_that_is_not_there(start_capturing: Any) -> None:
    kept = await start_capturing()
    await kept.running.secure(kept.running.get("/garbage"))
    (one,) = await kept.exchanges()
    assert (one.status is None or one.status == 502, one.error is not None) == (True, True)


async def test_http2(start_capturing: Any) -> None:
    kept = await start_capturing()
    reader, writer = await kept.running.tunnel(alpn=["h2"])
    client = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
    client.initiate_connection()
    head = [
        (":method", "POST"),
        (":scheme", "https"),
        (":authority", f"127.0.0.1:{kept.running.upstream.port}"),
        (":path", "/two"),
    ]
    for stream in (1, 3):
        client.send_headers(stream, head)
        client.send_data(stream, b"stream %d" % stream, end_stream=True)
    writer.write(client.data_to_send())
    ended = 0
    async with asyncio.timeout(10):
        while ended < 2:
            for event in client.receive_data(await reader.read(65536)):
                ended += type(event).__name__ == "StreamEnded"
            writer.write(client.data_to_send())
    writer.close()
    found = await kept.exchanges()
    assert {one.request.body for one in found} == {b"stream 1", b"stream 3"}
    assert {(one.request.version, one.status) for one in found} == {("HTTP/2.0", 200)}


async def test_heads_only(start_capturing: Any) -> None:
    kept = await start_capturing(captures=parse_capture_rules({"rules": [{"capture": "heads"}]}))
    await kept.running.secure(kept.running.get("/a", method="POST", headers="Content-Length: 6\r\n", body="secret"))
    (one,) = await kept.exchanges()
    assert (one.request.body, one.request.size_bytes) == (None, 6)
    assert one.response is not None
    assert (one.response.body, one.response.size_bytes) == (None, 5)


async def test_what_a_policy_marks_is_not_kept(start_capturing: Any) -> None:
    kept = await start_capturing(mark=CaptureLevel.OFF)
    assert parse(await kept.running.secure(kept.running.get("/a"))).status == 200
    assert await kept.exchanges() == []
    assert not kept.folder.exists() or not list(kept.folder.glob("*.ready"))


async def test_switched_off_in_the_middle_what_began_before_is_kept_and_nothing_after(start_capturing: Any) -> None:
    kept = await start_capturing()
    reader, writer = await kept.running.tunnel()
    writer.write(kept.running.get("/events"))
    await reader.readuntil(b"data: 1\n\n")
    kept.decide.captures = parse_capture_rules({"rules": []})
    await kept.running.secure(kept.running.get("/after"))
    kept.running.upstream.gate.set()
    await reader.read()
    writer.close()
    assert [one.path for one in await kept.exchanges()] == ["/events"]


async def test_a_queue_that_is_full_loses_and_counts_and_delays_nobody(start_capturing: Any) -> None:
    kept = await start_capturing(most_bytes=800)
    for _ in range(5):
        request = kept.running.get("/a", method="POST", headers="Content-Length: 1500\r\n", body="x" * 1500)
        assert parse(await kept.running.secure(request)).body == b"hello"
    assert await kept.exchanges() == []
    assert kept.lost == {Loss.QUEUE_FULL: 5}


async def test_a_spool_that_is_full_loses_and_counts(start_capturing: Any) -> None:
    kept = await start_capturing(limit_bytes=1)
    assert parse(await kept.running.secure(kept.running.get("/a"))).body == b"hello"
    assert await kept.exchanges() == []
    assert kept.lost == {Loss.SPOOL_FULL: 1}


async def test_compressed_bodies_are_kept_as_they_are_on_the_wire(start_capturing: Any) -> None:
    kept = await start_capturing()
    body = gzip.compress(b"0" * 1_000_000)
    request = kept.running.get(
        "/a", method="POST", headers=f"Content-Length: {len(body)}\r\nContent-Encoding: gzip\r\n"
    )
    await kept.running.secure(request + body)
    (one,) = await kept.exchanges()
    assert (one.request.body, one.request.size_bytes) == (body[:1000], len(body))


async def test_a_capture_that_fails_fails_alone(start_capturing: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = await start_capturing()

    def explode(*_: object) -> None:
        raise RuntimeError("it explodes")

    monkeypatch.setattr("addons.captured_call.Captured", explode)
    assert parse(await kept.running.secure(kept.running.get("/a"))).body == b"hello"
    assert await kept.exchanges() == []
    assert kept.lost == {Loss.NOT_MASKED: 1}


async def test_what_broke_off_before_policies_looked_at_it_is_kept_without_its_words(
    start_capturing: Any,
) -> None:
    """Nobody has said that it may be seen: as of an answer that is withheld, nothing that its sender wrote is kept."""
    kept = await start_capturing()
    kept.decide.judge = AnswerJudge(_NobodyIsAsked(), (policy(),), {}, AnsweredCall("http", "get"), "agt_1")
    head = b"HTTP/1.1 200 unlooked\r\nX-Note: unlooked\r\nTransfer-Encoding: chunked\r\n\r\n"
    kept.running.upstream.scripts[b"/broken"] = [head + b"8\r\nunlooked\r\nunlooked too\r\n"]
    assert parse(await kept.running.secure(kept.running.get("/broken"))).status == 502
    (one,) = await kept.exchanges()
    assert (one.status, one.response) == (200, None)
    assert "unlooked" not in repr(one) and one.error is not None


async def test_of_a_masked_answer_what_the_agent_got_is_kept(start_capturing) -> None:
    kept = await start_capturing()
    async with open_client() as client:
        evaluator = Evaluator(Judges(client), DailyBudgets(system_clock))
        masking = policy(on_match=OnMatch.MASK)
        kept.decide.judge = AnswerJudge(evaluator, (masking,), {}, AnsweredCall("http", "get"), "agt_1")
        kept.running.upstream.scripts[b"/masked"] = [plain(f"to {MAIL}".encode())]
        received = parse(await kept.running.secure(kept.running.get("/masked")))
        (one,) = await kept.exchanges()
    assert (received.status, received.body) == (200, b"to [masked: email]")
    assert (one.response.body, MAIL in repr(one)) == (received.body, False)


async def test_of_a_stream_in_which_events_were_masked_only_the_size_is_kept(start_capturing) -> None:
    kept = await start_capturing()
    async with open_client() as client:
        evaluator = Evaluator(Judges(client), DailyBudgets(system_clock))
        masking = policy(on_match=OnMatch.MASK)
        kept.decide.judge = AnswerJudge(evaluator, (masking,), {}, AnsweredCall("http", "get"), "agt_1")
        events = [event("hello"), event(f"to {MAIL}"), event("bye"), b"0\r\n\r\n"]
        kept.running.upstream.scripts[b"/masked"] = [CHUNKED + b"text/event-stream\r\n\r\n", *events]
        received = parse(await kept.running.secure(kept.running.get("/masked")))
        (one,) = await kept.exchanges()
    assert (received.status, MAIL.encode() in received.body) == (200, False)
    size = len("data: hello\n\ndata: to [masked: email]\n\ndata: bye\n\n")
    assert (one.response.body, one.response.size_bytes, MAIL in repr(one)) == (None, size, False)


class _NobodyIsAsked(Evaluator):
    judges: Any = None
    budgets: Any = None
