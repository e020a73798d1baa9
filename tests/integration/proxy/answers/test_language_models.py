"""Answers that a language model judges, and every way in which it does not."""

import json

import pytest

from headgate.judges.model import Provider, ProviderKind
from headgate.kernel.secrets import Secret
from headgate.nlp_policies.model import NlpPolicy
from headgate.organizations.destinations import OperatorBounds
from headgate.policies.model import Verdict
from tests.integration.judges.model_server import run_model_server
from tests.integration.proxy.answers.scripts import CHUNKED, MAIL, TOKEN, ask, error_of, event, plain, policy

JUDGED = policy("Nothing about persons", provider="openai_compatible", model="m")
CLEAR = {"flagged": False, "risk_score": 0.1, "confidence": 0.9, "detected_issues": [], "reasoning": "Fine."}
MATCH = CLEAR | {
    "flagged": True,
    "risk_score": 0.9,
    "detected_issues": [f"address of {MAIL}"],
    "reasoning": f"It names {MAIL}.",
}


@pytest.fixture(scope="module")
def model_server_process(tmp_path_factory: pytest.TempPathFactory):
    with run_model_server(tmp_path_factory.mktemp("model_server")) as server:
        yield server


@pytest.fixture
async def judged(inspect, model_server_process):
    """A gate whose answers a language model judges."""
    await model_server_process.reset()
    url = f"{model_server_process.url}/v1"
    service = Provider(ProviderKind.OPENAI_COMPATIBLE, url, Secret("no-real-key"), rules=OperatorBounds(None))

    async def begin(one: NlpPolicy = JUDGED, **options):
        return await inspect(one, providers={"openai_compatible": service}, **options)

    return begin


async def test_a_language_model_that_agrees(judged, model_server_process, answer) -> None:
    running = await judged()
    await model_server_process.answers(json.dumps(CLEAR))
    received, _, completion = await ask(running, answer, plain(f"the token is {TOKEN}".encode()))
    assert received.status == 200
    assert completion.inspection["nlp"][0]["outcome"] == "clear"
    [asked] = await model_server_process.journal()
    content = asked["body"]["messages"][-1]["content"]
    assert "untrusted_action" in content
    assert "the token is" in content
    assert TOKEN not in json.dumps(asked)


async def test_what_a_language_model_says_of_an_answer_is_not_told(judged, model_server_process, answer) -> None:
    running = await judged()
    await model_server_process.answers(json.dumps(MATCH))
    received, raw, completion = await ask(running, answer, plain(f"from {MAIL}".encode()))
    error = error_of(received)
    assert "Nothing about persons: a match" in error["message"]
    assert MAIL.encode() not in raw
    assert MAIL in completion.inspection["nlp"][0]["reasoning"]


@pytest.mark.parametrize("script", ["events", "lines"])
async def test_a_language_model_sees_a_stream_as_a_whole(judged, model_server_process, answer, script) -> None:
    running = await judged()
    await model_server_process.answers(json.dumps(CLEAR))
    kind = b"text/event-stream" if script == "events" else b"application/x-ndjson"
    whole = [CHUNKED + kind + b"\r\n\r\n", event("one"), event("two"), b"0\r\n\r\n"]
    received, _, _ = await ask(running, answer, *whole)
    assert (received.status, received.complete) == (200, True)
    [asked] = await model_server_process.journal()
    assert "data: one" in json.dumps(asked)
    assert "data: two" in json.dumps(asked)


FAILURES = {
    "unauthorized": {"error": 401},
    "rate_limited": {"error": 429},
    "provider_error": {"error": 500},
    "malformed_answer": {"text": "It seems fine to me."},
    "contradiction": {"text": json.dumps(CLEAR | {"flagged": True})},
    "timeout": {"latency": 2000},
    "unreachable": {"drop": True},
    "budget_exhausted": {"daily_limit": 1},
    "too_large": {"body": 150_000},
}


@pytest.mark.parametrize("failure", list(FAILURES))
@pytest.mark.parametrize("on_error", [Verdict.DENY, Verdict.REQUIRE_APPROVAL])
async def test_a_language_model_that_does_not_answer(judged, model_server_process, answer, failure, on_error) -> None:
    how = FAILURES[failure]
    one = policy("It", "openai_compatible", model="m", on_error=on_error, daily_limit=how.get("daily_limit", 1000))
    running = await judged(one, deadline_seconds=1.0)
    server = model_server_process
    await server.answers(how.get("text", json.dumps(CLEAR)))
    if "error" in how:
        for _ in range(6):
            await server.fails_once(how["error"])
    if "latency" in how:
        await server.behaves(latencyMs=how["latency"])
    if "drop" in how:
        await server.behaves(disconnectRate=1)
    if "daily_limit" in how:
        assert (await ask(running, answer, plain(b"one")))[0].status == 200
    received, _, completion = await ask(running, answer, plain(b"some words " * (how.get("body", 11) // 11)))
    error = error_of(received)
    assert error["details"]["policies"][0]["error"] in (failure, "timeout")
    assert completion.inspection["nlp"][0]["outcome"] == "error"
