"""A canary token is found in each message of a WebSocket, also where the params have only its digest."""

import gzip
from types import SimpleNamespace
from typing import Any, cast

import pytest

from headgate.canaries.model import canary_set
from headgate.gate.candidate import bound, candidate_for
from headgate.gate.find_canaries import without_canaries
from headgate.kernel.fair_turns import FairTurns
from headgate.policies.model import Decision, RiskLevel, Verdict
from headgate.protocols.http_call import HttpCall
from headgate.tools.interpret import interpret
from headgate.tools.match import CatalogueIndex
from tests.unit.canaries.tokens import FIRST, KEY, canary_of
from tests.unit.gate.identities import ROBOT
from tests.unit.gate.test_judged_locations import message

_CHUNKED = (b"x-amz-content-sha256", b"STREAMING-UNSIGNED-PAYLOAD-TRAILER")
_STATE: Any = SimpleNamespace(org_id="org_1", canaries=canary_set(KEY, [canary_of("first", FIRST)]))
_ALLOWED = Decision(Verdict.ALLOW, "allowed", RiskLevel.LOW, "pol_1", 1.0)


@pytest.mark.parametrize(
    ("content", "is_text"),
    [
        (FIRST.encode(), True),
        (b"x " * 40_000 + FIRST.encode(), True),
        (FIRST.encode(), False),
        (bytes(range(256)) * 4 + FIRST.encode() + b"\0\xff", False),
    ],
    ids=["short text", "long text", "text as bytes", "bytes"],
)
async def test_no_message_holds_a_canary(content: bytes, is_text: bool) -> None:
    candidate = bound(candidate_for(ROBOT, message(content, is_text=is_text)))
    turns = FairTurns(1, "canary tokens")
    decision = await without_canaries(cast("Any", _STATE), candidate, _ALLOWED, turns)
    assert (decision.verdict, [one["name"] for one in decision.canaries]) == (Verdict.DENY, ["first"])


@pytest.mark.parametrize(
    "coding", [[], [(b"content-encoding", b"aws-chunked")], [(b"content-encoding", b"gzip,aws-chunked")]]
)
@pytest.mark.parametrize("place", ["chunks", "trailer"])
async def test_no_chunks_of_an_upload_hold_a_canary(coding: list[tuple[bytes, bytes]], place: str) -> None:
    """Two chunks share it: what is stored at S3 holds it, the body as it is sent does not."""
    content = FIRST.encode() if place == "chunks" else b"nothing"
    if coding and b"gzip" in coding[0][1]:
        content = gzip.compress(content)
    half = len(content) // 2
    body = b"".join(b"%x\r\n%b\r\n" % (len(one), one) for one in (content[:half], content[half:])) + b"0\r\n"
    if place == "trailer":
        body += b"x-amz-meta-note: " + FIRST.encode() + b"\r\n"
    call = HttpCall("PUT", "https", "s3.example", 443, "/bucket/key", "", (_CHUNKED, *coding), body + b"\r\n")
    candidate = bound(candidate_for(ROBOT, interpret(call, CatalogueIndex([]))))
    decision = await without_canaries(cast("Any", _STATE), candidate, _ALLOWED, FairTurns(1, "canary tokens"))
    assert (decision.verdict, [one["name"] for one in decision.canaries]) == (Verdict.DENY, ["first"])
