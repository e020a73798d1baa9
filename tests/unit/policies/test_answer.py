"""A policy's answer is read strictly: what is not understood denies."""

import json
from collections.abc import Callable

import pytest

from headgate.policies.answer import verdict_of
from headgate.policies.model import ApprovalTerms, PolicyVerdict, RiskLevel, RulePolicy, Verdict

type Read = Callable[..., PolicyVerdict]


@pytest.fixture
def read(rule_policy: Callable[..., RulePolicy]) -> Read:
    return lambda **answer: verdict_of(rule_policy(), json.dumps(answer).encode())


@pytest.mark.parametrize(
    ("answer", "verdict", "messages"),
    [
        ({}, None, ()),
        ({"deny": False, "require_approval": False, "allow": False}, None, ()),
        ({"deny": [], "require_approval": []}, None, ()),
        ({"reason": "only a reason"}, None, ()),
        ({"reason": 5, "risk_level": "huge", "approval": 1}, None, ()),  # of a verdict that was not given
        ({"allow": True}, Verdict.ALLOW, ()),
        ({"require_approval": True, "allow": True}, Verdict.REQUIRE_APPROVAL, ()),
        ({"deny": True, "require_approval": True, "allow": True}, Verdict.DENY, ()),
        ({"deny": ["a", "b"], "allow": True}, Verdict.DENY, ("a", "b")),
        ({"deny": [], "require_approval": ["look"], "allow": True}, Verdict.REQUIRE_APPROVAL, ("look",)),
    ],
)
def test_the_strictest_of_what_one_policy_says_counts(
    read: Read, answer: dict[str, object], verdict: Verdict | None, messages: tuple[str, ...]
) -> None:
    parsed = read(**answer)
    assert (parsed.verdict, parsed.messages, parsed.error) == (verdict, messages, None)


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        ({"allow": "yes"}, "allow must be true or false, not a string"),
        ({"allow": 1}, "allow must be true or false, not 1"),
        ({"allow": []}, "allow must be true or false, not a set or list of 0"),
        ({"allow": None}, "not null"),
        ({"deny": "no", "allow": True}, "deny must be a boolean or a set or list of messages, not a string"),
        ({"deny": {}, "allow": True}, "write `deny contains message if"),
        ({"require_approval": 0}, "require_approval must be"),
        ({"deny": [{"msg": "x"}]}, "a message of deny must be a string, not an object"),
        ({"deny": ["x"] * 101}, "at most 100"),
        ({"deny": False, "require_approval": "x", "allow": True}, "require_approval must be"),
        ({"allow": True, "reason": 5}, "reason must be a string, not 5"),
        ({"allow": True, "risk_level": "severe"}, 'one of low, medium, high, critical, not "severe"'),
        ({"allow": True, "risk_level": None}, "not null"),
        ({"require_approval": True, "approval": True}, "approval must be an object, not a boolean"),
        ({"require_approval": True, "approval": {"approvers": 2}}, "approval has no member 'approvers'"),
        ({"require_approval": True, "approval": {"required_approvals": 0}}, "from 1 to 100, not 0"),
        ({"require_approval": True, "approval": {"required_approvals": -1}}, "from 1 to 100, not -1"),
        ({"require_approval": True, "approval": {"required_approvals": 1.5}}, "from 1 to 100, not 1.5"),
        ({"require_approval": True, "approval": {"required_approvals": "2"}}, "not a string"),
        ({"require_approval": True, "approval": {"required_approvals": True}}, "not a boolean"),
        ({"require_approval": True, "approval": {"hold_seconds": -0.1}}, "from 0 to 86400, not -0.1"),
        ({"require_approval": True, "approval": {"hold_seconds": True}}, "not a boolean"),
        ({"require_approval": True, "approval": {"expires_in_seconds": 0}}, "expires_in_seconds must be"),
        ({"require_approval": True, "approval": {"escalate_after_seconds": 1e308}}, "escalate_after_seconds must be"),
        ({"require_approval": True, "approval": {"assignees": "ann"}}, "assignees must be a set or list"),
        ({"require_approval": True, "approval": {"assignees": [""]}}, "by id or e-mail"),
        (
            {"require_approval": True, "approval": {"assignees": ["ann"], "required_approvals": 2}},
            "required_approvals is 2, and only 1 assignees",
        ),
    ],
)
def test_a_malformed_answer_denies_and_says_what_is_wrong(
    read: Read, answer: dict[str, object], complaint: str
) -> None:
    parsed = read(**answer)
    assert parsed.verdict is Verdict.DENY
    assert complaint in (parsed.error or "")


@pytest.mark.parametrize("answer", [b"", b"[]", b"null", b"\xff", b'{"deny": NaN}'])
def test_an_answer_that_is_no_object_denies(rule_policy: Callable[..., RulePolicy], answer: bytes) -> None:
    parsed = verdict_of(rule_policy(), answer)
    assert parsed.verdict is Verdict.DENY
    assert parsed.error is not None


def test_terms_of_an_approval_are_read(read: Read) -> None:
    terms = {
        "required_approvals": 2.0,
        "assignees": ["bob", "ann", "bob"],
        "hold_seconds": 1.5,
        "expires_in_seconds": 600,
        "escalate_after_seconds": 60,
    }
    parsed = read(require_approval=["two eyes more"], risk_level="critical", reason="why", approval=terms)
    assert parsed.terms == ApprovalTerms(2, ("ann", "bob"), 1.5, 600, 60)
    assert (parsed.risk_level, parsed.explanation()) == (RiskLevel.CRITICAL, "why")


def test_a_very_long_message_is_cut(read: Read) -> None:
    assert len(read(deny=["x" * 5_000]).messages[0]) == 2_000
