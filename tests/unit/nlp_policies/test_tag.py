"""Policies that tag: a match passes with the kinds of what was found, and what could not be inspected does not."""

import gzip
import random
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace

from headgate.detectors.document import Attachment
from headgate.gate.judge_content import judge
from headgate.judges.daily_budget import DailyBudgets
from headgate.judges.judge import Judges
from headgate.judges.transport import open_client
from headgate.kernel.clock import system_clock
from headgate.kernel.errors import ValidationError
from headgate.nlp_policies import detector_round
from headgate.nlp_policies.check import checked_draft
from headgate.nlp_policies.content import JudgedContent
from headgate.nlp_policies.evaluate import Evaluator, decision_of
from headgate.nlp_policies.model import NlpDraft, NlpPolicy, NlpPolicyType, NlpResult, OnMatch, Outcome
from headgate.policies.model import Verdict
from headgate.tools.interpret import interpret
from headgate.tools.load import load_catalogues
from tests.labelled import encoded
from tests.unit.gate.test_judged_locations import call

_NOW = datetime(2026, 11, 28, tzinfo=UTC)
_MAIL = {"to": "maria.keller@example.com"}
_LOCKED = (Attachment(("body",), encoded.UNSCANNABLE["encrypted zip"]("x")),)


def _policy(policy_id: str = "nlp_tag", **fields: Any) -> NlpPolicy:
    draft = NlpDraft("p", NlpPolicyType.PII_DETECTION, model="pii", threshold=0.6, on_match=OnMatch.TAG)
    return NlpPolicy("org_1", policy_id, 1, replace(draft, **fields), _NOW, _NOW)


async def _asked(policies: Sequence[NlpPolicy], content: JudgedContent, seconds: float = 10.0) -> list[NlpResult]:
    async with open_client() as client:
        evaluator = Evaluator(Judges(client), DailyBudgets(system_clock), detector_seconds=seconds)
        return await evaluator.evaluate_all(policies, content, {})


async def test_a_match_passes_with_its_kinds() -> None:
    [result] = await _asked([_policy()], JudgedContent(_MAIL))

    assert (result.outcome, result.decision, result.tags) == (Outcome.MATCH, Verdict.ALLOW, ("email",))
    record = result.record()
    assert (record["decision"], record["tags"]) == ("tag", ["email"])


async def test_nothing_found_is_no_tag() -> None:
    [result] = await _asked([_policy()], JudgedContent({"to": "nobody"}))

    assert (result.outcome, result.decision, result.tags) == (Outcome.CLEAR, Verdict.ALLOW, ())
    assert "tags" not in result.record()


async def test_another_policy_still_denies() -> None:
    results = await _asked([_policy(), _policy("nlp_deny", on_match=OnMatch.DENY)], JudgedContent(_MAIL))

    assert decision_of(results) is Verdict.DENY
    assert results[0].tags == ("email",)


@pytest.mark.parametrize(
    ("on_unscannable", "decision"),
    [(None, Verdict.DENY), (Verdict.REQUIRE_APPROVAL, Verdict.REQUIRE_APPROVAL), (Verdict.ALLOW, Verdict.ALLOW)],
)
@pytest.mark.parametrize("content", [
    JudgedContent(_MAIL, attachments=_LOCKED),
    JudgedContent(_MAIL, unscannable="the body's content coding is unknown"),
], ids=["locked", "unread"])  # fmt: skip
async def test_what_is_found_beside_what_cannot_be_opened_passes_only_if_that_may(
    content: JudgedContent, on_unscannable: Verdict | None, decision: Verdict
) -> None:
    [result] = await _asked([_policy(on_error=Verdict.DENY, on_unscannable=on_unscannable)], content)

    assert (result.decision, result.error, result.tags) == (decision, "unscannable", ("email",))
    assert (result.outcome is Outcome.MATCH) == (decision is Verdict.ALLOW)
    assert result.record()["decision"] == ("tag" if decision is Verdict.ALLOW else decision.value)


async def test_what_meets_a_limit_does_not_pass_with_what_was_found() -> None:
    bomb = Attachment(("body",), encoded.zipped([("a.txt", b"a" * 30_000_000)]))
    policy = _policy(on_error=Verdict.DENY, on_unscannable=Verdict.ALLOW)
    [result] = await _asked([policy], JudgedContent(_MAIL, attachments=(bomb,)))

    assert (result.outcome, result.decision, result.error) == (Outcome.ERROR, Verdict.DENY, "not_inspected")


async def test_a_body_that_could_not_be_read_does_not_pass_with_what_was_found() -> None:
    """Its head holds an address, and the body decodes to more than is inspected."""
    large = gzip.compress(b"a" * 60_000 + random.Random(1).randbytes(1 << 20).hex().encode())  # noqa: S311 - repeatable
    sent = call(("X-Owner", "maria.keller@example.com"), ("Content-Encoding", "gzip"), body=large)
    async with open_client() as client:
        evaluator = Evaluator(Judges(client), DailyBudgets(system_clock))
        [result] = await judge(evaluator, [_policy(on_error=Verdict.DENY)], interpret(sent, load_catalogues()), {})

    assert (result.decision, result.error, result.tags) == (Verdict.DENY, "not_inspected", ("email",))


@pytest.mark.parametrize("on_error", [Verdict.REQUIRE_APPROVAL, Verdict.DENY])
async def test_a_detector_that_raises_lets_nothing_pass(monkeypatch: pytest.MonkeyPatch, on_error: Verdict) -> None:
    def explode(*_: object) -> None:
        raise RuntimeError("a defect")

    monkeypatch.setattr(detector_round.AssessedContent, "assess", explode)
    [result] = await _asked([_policy(on_error=on_error)], JudgedContent(_MAIL))

    assert (result.outcome, result.decision, result.error) == (Outcome.ERROR, on_error, "internal")


async def test_an_answer_that_comes_too_late_lets_nothing_pass() -> None:
    [result] = await _asked([_policy(on_error=Verdict.DENY)], JudgedContent(_MAIL), seconds=0.0)

    assert (result.outcome, result.decision, result.error) == (Outcome.ERROR, Verdict.DENY, "timeout")


@pytest.mark.parametrize("provider", ["onnx", "anthropic"])
def test_only_detectors_tag(provider: str) -> None:
    draft = replace(_policy().draft, type=NlpPolicyType.CONTENT_SAFETY, provider=provider, model="m")

    with pytest.raises(ValidationError, match="on_match must be deny or require_approval unless"):
        checked_draft(draft, {})
