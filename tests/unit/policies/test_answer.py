"""A policy's answer is read strictly: what is not understood denies."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from headgate.policies.answer import verdict_of
from headgate.policies.grant_terms import GrantTerms
from headgate.policies.model import PolicyVerdict, RiskLevel, RulePolicy, Verdict
from headgate.policies.terms import ApprovalTerms, Duty, RoleSlot
from headgate.traffic.model import CaptureLevel

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
        *(
            ({"require_approval": True, "approval": terms}, says)
            for terms, says in (
                ({"denials_required": 0}, "denials_required must be a whole number from 1"),
                ({"assignees": ["ann"], "denials_required": 2}, "denials_required is 2, and only 1 assignees"),
                ({"assignees": ["group:Security"]}, "names no group"),
                ({"assignees": ["a\0b"]}, "by id or e-mail"),
                ({"escalate_to": "boss@example.com"}, "escalate_to must be a set or list"),
                ({"remind_after_seconds": 59}, "at least 60, not 59"),
                ({"separation_of_duties": "author"}, "separation_of_duties must be a boolean or a set or list"),
                ({"separation_of_duties": ["author"]}, 'knows agent_owner, policy_author, not "author"'),
                ({"roles": "security"}, "roles must be a set or list of groups"),
                ({"roles": [1]}, "roles must name groups, not 1"),
                ({"roles": {"security": 0}}, "roles.security must be a whole number"),
                ({"roles": ["no such name"]}, "names no group"),
                ({"roles": {"a": 60, "b": 60}}, "more than 100 approvals"),
                ({"roles": ["a", "b", "c"], "required_approvals": 2}, "is 2, and approval.roles ask for 3"),
                ({"required_approvals": float("1e999")}, "from 1 to 100"),
                ({"grants": False}, "grants must be an object"),
                ({"grants": {"allow": True}}, "grants has no member 'allow'"),
                ({"grants": {"allowed": 1}}, "grants.allowed must be true or false"),
                ({"grants": {"max_uses": 0}}, "grants.max_uses must be from 1"),
                ({"grants": {"max_uses": True}}, "grants.max_uses must be a whole number"),
                ({"grants": {"max_seconds": 1.5}}, "grants.max_seconds must be a whole number"),
                ({"grants": {"max_seconds": 1e308}}, "grants.max_seconds must be from 1"),
            )
        ),
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


def test_terms_of_grants_are_read(read: Read) -> None:
    parsed = read(require_approval=True, approval={"grants": {"allowed": True, "max_uses": 2.0, "max_seconds": 60}})
    assert parsed.terms.grants == GrantTerms(True, 2, 60)
    assert read(require_approval=True, approval={"grants": {}}).terms.grants == GrantTerms()


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


@pytest.mark.parametrize("level", list(CaptureLevel))
def test_what_may_be_kept_is_read(read: Read, level: CaptureLevel) -> None:
    assert read(allow=True, capture=level.value).capture is level
    assert read(allow=True).capture is None


@pytest.mark.parametrize("level", [True, "all", ["off"], 1])
def test_another_word_for_what_may_be_kept_denies_and_keeps_nothing(read: Read, level: object) -> None:
    verdict = read(allow=True, capture=level)
    assert (verdict.verdict, verdict.capture) == (Verdict.DENY, CaptureLevel.OFF)
    assert "capture must be one of off, heads, bodies" in str(verdict.error)


def test_a_very_long_message_is_cut(read: Read) -> None:
    assert len(read(deny=["x" * 5_000]).messages[0]) == 2_000


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        ({"roles": ["security", "owners"]}, ApprovalTerms(2, roles=(RoleSlot("owners"), RoleSlot("security")))),
        ({"roles": {"group:security": 2}}, ApprovalTerms(2, roles=(RoleSlot("security", 2),))),
        ({"roles": ["security"], "required_approvals": 3}, ApprovalTerms(3, roles=(RoleSlot("security"),))),
        ({"separation_of_duties": True}, ApprovalTerms(separation_of_duties=(Duty.AGENT_OWNER, Duty.POLICY_AUTHOR))),
        ({"separation_of_duties": False}, ApprovalTerms()),
        ({"separation_of_duties": ["policy_author"]}, ApprovalTerms(separation_of_duties=(Duty.POLICY_AUTHOR,))),
        (
            {"assignees": ["group:security"], "required_approvals": 3, "denials_required": 2},
            ApprovalTerms(3, ("group:security",), denials_required=2),
        ),
        (
            {"escalate_to": ["boss@example.com"], "remind_after_seconds": 600},
            ApprovalTerms(escalate_to=("boss@example.com",), remind_after_seconds=600),
        ),
    ],
)
def test_who_must_agree_is_read(read: Read, terms: dict[str, Any], expected: ApprovalTerms) -> None:
    parsed = read(require_approval=True, approval=terms)
    assert (parsed.error, parsed.terms) == (None, expected)
