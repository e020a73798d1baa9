"""The tools that an agent may not call are taken out of the answer; what is no list is not forwarded."""

import gzip
import json
from collections.abc import Sequence
from typing import cast

import pytest
from mitmproxy.http import Response
from mitmproxy.test import tflow

from addons.inspection import AnswerLimits, Inspection
from addons.tool_list import ToolList
from headgate.gate.inspect_answer import AnswerJudge
from headgate.gate.judged_answer import AnsweredCall
from headgate.gate.offered_tools import Offer, ToolListing
from headgate.kernel.errors import UnavailableError
from headgate.nlp_policies.evaluate import Evaluator
from headgate.policies.model import Decision, RiskLevel, Verdict
from headgate.protocols.mcp_tool_list import OfferedTool

DENIAL = Decision(Verdict.DENY, "never", RiskLevel.HIGH, "pol_1", 0.0)
BODY = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "read"}, {"name": "drop"}]}}).encode()


class Denies:
    """In place of ``ToolListing``: denies these tools, or fails."""

    def __init__(self, *names: str, error: BaseException | None = None) -> None:
        self._names = names
        self._error = error

    async def offer(self, tools: Sequence[OfferedTool]) -> Offer:
        if self._error is not None:
            raise self._error
        denied = {tool.name: DENIAL for tool in tools if tool.name in self._names}
        return Offer(denied, 1, frozenset({"read"}))


async def answered(
    denies: Denies, body: bytes = BODY, *, status: int = 200, max_bytes: int = 1 << 20, **headers: str
) -> tuple[Inspection, Response]:
    """What a client gets of this answer."""
    flow = tflow.tflow(resp=True)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    flow.response = Response.make(status, b"", {"content-type": "application/json"})
    flow.response.headers.update(named)
    flow.response.raw_content = body
    flow.response.headers["content-length"] = str(len(body))
    judge = AnswerJudge(cast("Evaluator", None), (), {}, AnsweredCall("mcp_a", "mcp_tools_list"), "agt_1")
    inspection = Inspection(
        judge,
        AnswerLimits(body=max_bytes),
        action_id="act_1",
        mcp_id=1,
        request_id="r",
        tools=ToolList(cast("ToolListing", denies)),
    )
    inspection.begin(flow)
    assert inspection.pieces is None, "a list passes when it is whole"
    await inspection.look_at_whole(flow.response)
    return inspection, flow.response


def names(response: Response) -> list[str]:
    return [one["name"] for one in json.loads(response.content or b"")["result"]["tools"]]


async def test_a_list_of_allowed_tools_is_forwarded_as_it_came() -> None:
    inspection, response = await answered(Denies(), b" " + BODY, etag='"1"')
    assert inspection.is_clear
    assert response.raw_content == b" " + BODY
    assert response.headers["etag"] == '"1"'
    assert inspection.record()["tools"] == {
        "listed": 2,
        "left_out": 0,
        "first_left_out": [],
        "first_seen": 1,
        "changed": 1,
        "first_changed": ["read"],
    }


async def test_a_denied_tool_is_left_out() -> None:
    inspection, response = await answered(Denies("drop"), etag='"1"', content_digest="sha-256=:x:")
    assert inspection.is_clear
    assert names(response) == ["read"]
    assert int(response.headers["content-length"]) == len(response.raw_content or b"")
    assert not {"etag", "content-digest"} & set(response.headers)
    record = cast("dict[str, object]", inspection.record()["tools"])
    assert record["left_out"] == 1
    assert record["first_left_out"] == [{"name": "drop", "policy_id": "pol_1", "reason": "never"}]


async def test_a_compressed_list_is_read() -> None:
    inspection, response = await answered(Denies("drop"), gzip.compress(BODY), content_encoding="gzip")
    assert inspection.is_clear
    assert names(response) == ["read"]
    assert "content-encoding" not in response.headers


async def test_an_event_stream_is_read() -> None:
    body = b"event: message\ndata: " + BODY + b"\n\n"
    inspection, response = await answered(Denies("drop"), body, content_type="text/event-stream")
    assert inspection.is_clear
    assert json.loads((response.content or b"").split(b"data: ")[1])["result"]["tools"] == [{"name": "read"}]


async def test_a_long_list_names_only_some() -> None:
    listed = [f"t{number:03}" * 50 for number in range(300)]
    body = json.dumps({"result": {"tools": [{"name": name} for name in listed]}}).encode()
    inspection, response = await answered(Denies(*listed), body)
    assert names(response) == []
    record = cast("dict[str, list[dict[str, str]]]", inspection.record()["tools"])
    assert record["left_out"] == 300
    assert [one["name"] for one in record["first_left_out"]] == [name[:128] for name in listed[:20]]


@pytest.mark.parametrize(
    ("body", "headers", "why"),
    [
        (b"hello", {}, "no JSON that can be read in exactly one way"),
        (BODY, {"content_type": "text/html"}, "neither JSON nor an event stream"),
        (BODY, {"content_encoding": "gzip"}, "not in the content coding that it names"),
        (BODY, {"content_encoding": "unheard-of"}, "its content coding is not read"),
        (gzip.compress(b" " * 5_000_000), {"content_encoding": "gzip"}, "larger than"),
    ],
)
async def test_what_cannot_be_read_is_withheld(body: bytes, headers: dict[str, str], why: str) -> None:
    inspection, _ = await answered(Denies(), body, **headers)
    assert inspection.is_withheld
    assert not inspection.is_clear
    error = json.loads(inspection.refusal().content or b"")
    assert error["error"]["data"]["error"]["code"] == "RESPONSE_WITHHELD"
    assert why in str(inspection.record()["reason"])


@pytest.mark.parametrize("status", [404, 502])
async def test_an_error_of_the_server_is_forwarded(status: int) -> None:
    inspection, response = await answered(Denies(), b"<html>", status=status, content_type="text/html")
    assert inspection.is_clear
    assert response.content == b"<html>"


async def test_an_answer_without_a_body_is_forwarded() -> None:
    assert (await answered(Denies(), b"", status=202))[0].is_clear


@pytest.mark.parametrize("error", [UnavailableError("too many wait"), RuntimeError("the engine is gone")])
async def test_nothing_is_forwarded_where_nobody_can_be_asked(error: BaseException) -> None:
    inspection, _ = await answered(Denies(error=error))
    assert inspection.is_withheld
