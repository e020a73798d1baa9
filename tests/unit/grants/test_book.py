"""Which grant covers which call, and whose asking it answers."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from msgspec.structs import replace

from headgate.approvals.standing import Parties
from headgate.grants.book import GrantBook
from headgate.grants.conditions import parse_conditions
from headgate.grants.model import Grant, Granter, GrantStatus, Scope, one_of_each_person
from headgate.policies.grant_terms import GrantTerms
from headgate.policies.model import Requirement
from headgate.policies.terms import Duty, RoleSlot

_NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
_DIGEST = b"d" * 32
_ALICE = Granter("usr_alice", "alice@example.com", False, _NOW)
_BOB = Granter("usr_bob", "bob@example.com", False, _NOW)
_GRANT = Grant(
    org_id="org_1",
    grant_id="grt_1",
    agent_id="agt_1",
    tool="mail",
    operation="send",
    scope=Scope(conditions=parse_conditions([{"param": "to", "prefix": "sales@"}])),
    policy_ids=frozenset({"pol_1"}),
    granters=(_ALICE,),
    max_uses=10,
    uses=0,
    max_sum=None,
    used_sum=Decimal(0),
    reason="the quarter's mails",
    approval_id=None,
    created_at=_NOW,
    expires_at=_NOW + timedelta(hours=1),
)
_ASKED = Requirement("pol_1", 3, 1)


def covering(*grants: Grant, requirements=(_ASKED,), params=None, now=_NOW, **call: object) -> list[str]:
    asked = {"agent_id": "agt_1", "tool": "mail", "operation": "send", "digest": _DIGEST} | call
    found = GrantBook(grants).covering(
        params={"to": "sales@example.com"} if params is None else params, requirements=requirements, now=now, **asked
    )
    return [one.grant_id for one in found]


def test_a_call_of_its_kind_is_covered() -> None:
    assert covering(_GRANT) == ["grt_1"]


@pytest.mark.parametrize(
    "other",
    [
        {"agent_id": "agt_2"},
        {"tool": "calendar"},
        {"operation": "delete"},
        {"params": {"to": "boss@example.com"}},
        {"now": _NOW + timedelta(hours=1)},
        {"requirements": ()},
        {"requirements": (_ASKED, Requirement("pol_2", 1, 1))},
        {"requirements": (_ASKED, Requirement("nlp_1", 1, 1))},
        {"requirements": (replace(_ASKED, required_approvals=2),)},
        {"requirements": (replace(_ASKED, assignees=("usr_bob",)),)},
        {"requirements": (replace(_ASKED, grants=GrantTerms(allowed=False)),)},
        {"requirements": (replace(_ASKED, grants=GrantTerms(max_uses=9)),)},
        {"requirements": (replace(_ASKED, grants=GrantTerms(max_seconds=3599)),)},
        {"requirements": (replace(_ASKED, required_approvals=2, grants=GrantTerms(allowed=True)),)},
    ],
)
def test_another_call_or_what_its_granter_could_not_approve_is_not(other) -> None:
    assert covering(_GRANT, **other) == []


@pytest.mark.parametrize(
    "asked",
    [
        replace(_ASKED, policy_version=9),
        replace(_ASKED, assignees=("alice@example.com",)),
        replace(_ASKED, grants=GrantTerms(True, 10, 3600)),
    ],
)
def test_the_policies_of_now_are_answered(asked) -> None:
    assert covering(_GRANT, requirements=(asked,)) == ["grt_1"]


def test_two_approvals_need_two_granters() -> None:
    asked = replace(_ASKED, required_approvals=2, grants=GrantTerms(allowed=True))
    assert covering(replace(_GRANT, granters=(_ALICE, _BOB)), requirements=(asked,)) == ["grt_1"]


def test_people_of_each_role() -> None:
    asked = replace(
        _ASKED, required_approvals=2, roles=(RoleSlot("security"), RoleSlot("owners")), grants=GrantTerms(allowed=True)
    )
    both = replace(_ALICE, groups=frozenset({"security", "owners"}))
    assert covering(replace(_GRANT, granters=(both,)), requirements=(asked,)) == []
    assert covering(replace(_GRANT, granters=(both, _BOB)), requirements=(asked,)) == []
    owner = replace(_BOB, groups=frozenset({"owners"}))
    assert covering(replace(_GRANT, granters=(both, owner)), requirements=(asked,)) == ["grt_1"]


def test_who_must_be_kept_apart_does_not_count() -> None:
    asked = replace(_ASKED, separation_of_duties=tuple(Duty))
    assert covering(_GRANT, requirements=(asked,)) == ["grt_1"]
    owner = replace(_GRANT, parties=Parties(agent_owner=frozenset({"usr_alice"})))
    author = replace(_GRANT, parties=Parties(policy_authors={"pol_1": frozenset({"usr_alice"})}))
    assert covering(owner, author, requirements=(asked,)) == []
    second = replace(_GRANT, parties=Parties(agent_owner=frozenset({"usr_other", "usr_alice"})))
    assert covering(second, requirements=(asked,)) == []
    assert covering(owner) == ["grt_1"]


def test_one_granter_of_each_person() -> None:
    apart = {"usr_alice": frozenset({"usr_alice"}), "usr_bob": frozenset({"usr_bob"})}
    assert one_of_each_person([_ALICE, _BOB], apart) == (_ALICE, _BOB)
    both = frozenset({"usr_alice", "usr_bob"})
    assert one_of_each_person([_ALICE, _BOB], {"usr_alice": both, "usr_bob": both}) == (_ALICE,)


def test_the_narrowest_comes_first() -> None:
    exact = replace(_GRANT, grant_id="grt_exact", scope=Scope(digest=_DIGEST))
    wide = replace(_GRANT, grant_id="grt_wide", scope=Scope())
    assert covering(wide, _GRANT, exact) == ["grt_exact", "grt_1", "grt_wide"]
    assert covering(exact, digest=b"e" * 32) == []


@pytest.mark.parametrize(
    ("amount", "covered"), [(5, True), (0, True), (-5, False), ("5", False), (True, False), (None, False)]
)
def test_what_is_no_amount_is_not_covered_by_a_sum(amount, covered) -> None:
    grant = replace(_GRANT, scope=Scope(sum_param="amount"), max_sum=Decimal(100))
    assert bool(covering(grant, params={"amount": amount})) is covered


def test_states() -> None:
    assert _GRANT.status(_NOW) is GrantStatus.ACTIVE
    assert replace(_GRANT, uses=10).status(_NOW) is GrantStatus.EXHAUSTED
    assert replace(_GRANT, max_sum=Decimal(5), used_sum=Decimal(5)).status(_NOW) is GrantStatus.EXHAUSTED
    assert replace(_GRANT, uses=10).status(_NOW + timedelta(hours=1)) is GrantStatus.EXPIRED
    assert replace(_GRANT, revoked_at=_NOW).status(_NOW + timedelta(hours=1)) is GrantStatus.REVOKED
