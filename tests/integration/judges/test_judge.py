"""Judges asked over the network, and every way in which that goes wrong: always an error, never an answer made up."""

import asyncio
import json
import time

import pytest
from msgspec.structs import replace

from headgate.judges.judge import Judges
from headgate.judges.model import Failure, JudgeError, Provider, ProviderKind, Question
from headgate.judges.prompt import PART_BYTES
from headgate.judges.transport import open_client
from headgate.organizations.destinations import OperatorBounds
from tests.integration.judges.conftest import provider, question
from tests.integration.judges.model_server import ModelServer

_ANSWER = {
    "flagged": True,
    "risk_score": 0.9,
    "confidence": 0.8,
    "detected_issues": ["deletion"],
    "reasoning": "It deletes.",
}
_TEXT = json.dumps(_ANSWER)
_REMOTE = [ProviderKind.OPENAI_COMPATIBLE, ProviderKind.ANTHROPIC, ProviderKind.GEMINI]


async def _failure(judges: Judges, asked: Question) -> Failure:
    with pytest.raises(JudgeError) as caught:
        await judges.ask(asked)
    return caught.value.failure


@pytest.mark.parametrize("kind", _REMOTE)
async def test_each_provider_is_asked_in_its_own_way(
    model_server: ModelServer, judges: Judges, kind: ProviderKind
) -> None:
    await model_server.answers(_TEXT)

    verdict = await judges.ask(question(provider(model_server, kind)))

    assert verdict.judgement.risk_score == 0.9
    assert verdict.judgement.detected_issues == ("deletion",)
    [entry] = await model_server.journal()
    messages = entry["body"]["messages"]  # type: ignore[index]
    assert messages[0]["role"] == "system"
    assert "Deny calls that delete data." in messages[0]["content"]
    assert json.loads(messages[-1]["content"]) == {"untrusted_action": {"tool": "db", "operation": "read"}}


async def test_the_schema_is_asked_for_first(model_server: ModelServer, judges: Judges) -> None:
    await model_server.answers(_TEXT, responseFormat="json_schema")

    assert (await judges.ask(question(provider(model_server, ProviderKind.OPENAI_COMPATIBLE)))).requests == 1


@pytest.mark.parametrize("refusals", [1, 2, 3])
async def test_a_provider_that_knows_no_schema_is_asked_otherwise(
    model_server: ModelServer, judges: Judges, refusals: int
) -> None:
    await model_server.answers(_TEXT)
    for _ in range(refusals):
        await model_server.fails_once(400)
    asked = provider(model_server, ProviderKind.OPENAI_COMPATIBLE)

    assert (await judges.ask(question(asked))).requests == refusals + 1
    assert (await judges.ask(question(asked, {"another": "action"}))).requests == 1  # it remembers


async def test_another_organizations_questions_do_not_loosen_the_form(
    model_server: ModelServer, judges: Judges
) -> None:
    asked = question(provider(model_server, ProviderKind.OPENAI_COMPATIBLE))
    await model_server.answers(_TEXT)
    for _ in range(3):
        await model_server.fails_once(400)
    assert (await judges.ask(replace(asked, identity=("org_other", "p", "1")))).requests == 4
    await judges.ask(replace(asked, identity=("org_this", "p", "1")))
    assert [one["body"].get("response_format", {}).get("type") for one in await model_server.journal()][-2:] == [  # type: ignore[attr-defined]
        None,
        "json_schema",
    ]


async def test_a_tool_call_is_an_answer(model_server: ModelServer, judges: Judges) -> None:
    await model_server.answers({"toolCalls": [{"name": "judge", "arguments": _ANSWER}]}, toolName="judge")
    for kind, refusals in ((ProviderKind.OPENAI_COMPATIBLE, 2), (ProviderKind.ANTHROPIC, 1)):
        for _ in range(refusals):
            await model_server.fails_once(400)
        verdict = await judges.ask(question(provider(model_server, kind)))
        assert verdict.judgement.risk_score == 0.9


async def test_no_form_is_known(model_server: ModelServer, judges: Judges) -> None:
    assert await _failure(judges, question(provider(model_server, ProviderKind.GEMINI))) is Failure.REFUSED


@pytest.mark.parametrize(
    "bad",
    [
        "I think it is fine.",
        "{}",
        "[]",
        json.dumps({**_ANSWER, "extra": 1}),
        json.dumps({name: value for name, value in _ANSWER.items() if name != "confidence"}),
        _TEXT[:-1] + ', "flagged": false}',
        json.dumps({**_ANSWER, "risk_score": 1.5}),
        json.dumps({**_ANSWER, "risk_score": True}),
        json.dumps({**_ANSWER, "risk_score": "0.9"}),
        json.dumps({**_ANSWER, "flagged": "yes"}),
        json.dumps({**_ANSWER, "detected_issues": "deletion"}),
        json.dumps({**_ANSWER, "detected_issues": [1]}),
        _TEXT.replace("0.9", "NaN"),
        _TEXT + _TEXT,
    ],
)
async def test_an_answer_of_another_form_is_repaired_once_and_then_an_error(
    model_server: ModelServer, judges: Judges, bad: str
) -> None:
    asked = provider(model_server, ProviderKind.OPENAI_COMPATIBLE)
    await model_server.answers(bad, _TEXT)
    verdict = await judges.ask(question(asked))
    assert (verdict.judgement.risk_score, verdict.requests) == (0.9, 2)

    await model_server.reset()
    await model_server.answers(bad)
    assert await _failure(judges, question(asked, {"b": 1})) is Failure.MALFORMED_ANSWER
    assert len(await model_server.journal()) <= 2


@pytest.mark.parametrize("status", [429, 500, 502, 503])
async def test_one_retry_where_the_provider_is_busy(model_server: ModelServer, judges: Judges, status: int) -> None:
    await model_server.answers(_TEXT)
    await model_server.fails_once(status)

    assert (await judges.ask(question(provider(model_server, ProviderKind.ANTHROPIC)))).judgement.flagged


@pytest.mark.parametrize(
    ("rates", "failures"),
    [
        ({"dropRate": 1.0}, {Failure.PROVIDER_ERROR}),
        ({"malformedRate": 1.0}, {Failure.MALFORMED_ANSWER}),
        ({"disconnectRate": 1.0}, {Failure.UNREACHABLE}),
        ({"rateLimitRate": 1.0}, {Failure.RATE_LIMITED, Failure.TIMEOUT}),
    ],
)
@pytest.mark.parametrize("kind", _REMOTE)
async def test_a_provider_that_breaks_is_an_error(
    model_server: ModelServer, judges: Judges, kind: ProviderKind, rates: dict[str, float], failures: set[Failure]
) -> None:
    await model_server.answers(_TEXT)
    await model_server.behaves(**rates)

    assert await _failure(judges, question(provider(model_server, kind))) in failures


async def test_a_slow_provider_ends_with_the_deadline(model_server: ModelServer) -> None:
    await model_server.answers(_TEXT)
    await model_server.behaves(latencyMs=5000)
    async with open_client() as client:
        judges = Judges(client, deadline_seconds=0.4)
        started = time.monotonic()
        failure = await _failure(judges, question(provider(model_server, ProviderKind.OPENAI_COMPATIBLE)))

    assert failure is Failure.TIMEOUT
    assert time.monotonic() - started < 2


@pytest.mark.parametrize("status", [401, 403])
async def test_a_wrong_key_is_said_and_not_shown(model_server: ModelServer, judges: Judges, status: int) -> None:
    await model_server.fails_once(status)
    with pytest.raises(JudgeError) as caught:
        await judges.ask(question(provider(model_server, ProviderKind.ANTHROPIC)))

    assert caught.value.failure is Failure.UNAUTHORIZED
    assert "no-real-key" not in caught.value.message


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "http://nowhere.invalid", "http://192.0.2.1:9"])
async def test_nobody_is_there(judges: Judges, url: str) -> None:
    asked = Provider(ProviderKind.OPENAI_COMPATIBLE, url, rules=OperatorBounds(None))

    assert await _failure(judges, question(asked)) in (Failure.UNREACHABLE, Failure.TIMEOUT)


async def test_a_provider_that_fails_again_and_again_is_left_alone(model_server: ModelServer) -> None:
    await model_server.answers(_TEXT)
    await model_server.behaves(dropRate=1.0)
    now = 0.0
    async with open_client() as client:
        judges = Judges(client, clock=lambda: now)
        asked = question(provider(model_server, ProviderKind.OPENAI_COMPATIBLE))
        failures = [await _failure(judges, asked) for _ in range(6)]
        assert failures == [Failure.PROVIDER_ERROR] * 5 + [Failure.BREAKER_OPEN]

        assert await _failure(judges, replace(asked, identity=("org_b", "nlp_b", "1"))) is Failure.PROVIDER_ERROR

        await model_server.behaves()
        now = 11.0
        assert (await judges.ask(asked)).judgement.flagged


async def test_the_same_question_is_asked_once(model_server: ModelServer, judges: Judges) -> None:
    await model_server.answers(_TEXT)
    await model_server.behaves(latencyMs=100)
    asked = question(provider(model_server, ProviderKind.OPENAI_COMPATIBLE))

    verdicts = await asyncio.gather(*(judges.ask(asked) for _ in range(20)))
    later = await judges.ask(asked)

    assert len(await model_server.journal()) == 1
    assert later.cached
    assert {one.judgement for one in verdicts} == {later.judgement}


@pytest.mark.parametrize(
    "change",
    [
        {"model": "judge-2"},
        {"policy": "Another."},
        {"threshold": 0.6},
        {"identity": ("org_b", "nlp_a", "1")},
        {"identity": ("org_a", "nlp_a", "2")},
    ],
)
async def test_another_question_has_an_answer_of_its_own(
    model_server: ModelServer, judges: Judges, change: dict[str, object]
) -> None:
    await model_server.answers(_TEXT)
    asked = provider(model_server, ProviderKind.OPENAI_COMPATIBLE)
    await judges.ask(question(asked))
    await judges.ask(question(asked, **change))

    assert len(await model_server.journal()) == 2


async def test_errors_are_not_kept(model_server: ModelServer, judges: Judges) -> None:
    asked = question(provider(model_server, ProviderKind.OPENAI_COMPATIBLE))
    await model_server.answers("nonsense")
    assert await _failure(judges, asked) is Failure.MALFORMED_ANSWER
    await model_server.reset()
    await model_server.answers(_TEXT)

    assert (await judges.ask(asked)).judgement.flagged


async def test_whoever_asked_first_may_go_away(model_server: ModelServer, judges: Judges) -> None:
    await model_server.answers(_TEXT)
    await model_server.behaves(latencyMs=200)
    asked = question(provider(model_server, ProviderKind.OPENAI_COMPATIBLE))
    first = asyncio.ensure_future(judges.ask(asked))
    await asyncio.sleep(0.05)
    second = asyncio.ensure_future(judges.ask(asked))
    await asyncio.sleep(0.05)
    first.cancel()

    assert (await second).judgement.flagged


async def test_a_large_action_is_judged_in_parts_of_which_the_worst_counts(
    model_server: ModelServer, judges: Judges
) -> None:
    await model_server.answers(_TEXT, userMessage="needle")
    await model_server.answers(json.dumps({**_ANSWER, "flagged": False, "risk_score": 0.0, "detected_issues": []}))
    action = {"a": "x" * PART_BYTES, "b": "needle", "c": "y" * 100}

    verdict = await judges.ask(question(provider(model_server, ProviderKind.OPENAI_COMPATIBLE), action))

    assert (verdict.judgement.risk_score, verdict.requests) == (0.9, 2)


async def test_what_is_too_large_is_never_cut(model_server: ModelServer, judges: Judges) -> None:
    await model_server.answers(_TEXT)
    asked = question(provider(model_server, ProviderKind.OPENAI_COMPATIBLE), {"a": "x" * PART_BYTES * 5})

    assert await _failure(judges, asked) is Failure.TOO_LARGE
    assert await model_server.journal() == []
