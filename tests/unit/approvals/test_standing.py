"""Slots and who fills them: a vote one slot of each requirement, members of its group alone for a role's."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.approvals.standing import Named, Parties, Standing, can_fill, is_met, is_refused, standing_in
from headgate.policies.model import Requirement
from headgate.policies.terms import Duty, RoleSlot

SECURITY, OWNERS = "security", "owners"
BOTH = Requirement("pol_1", 1, 2, roles=(RoleSlot(OWNERS), RoleSlot(SECURITY)))


def counts(*roles: str, free: bool = False) -> Standing:
    return Standing("pol_1", free, roles)


@pytest.mark.parametrize(
    ("requirement", "votes", "met"),
    [
        (BOTH, [], False),
        (BOTH, [counts(SECURITY)], False),
        (BOTH, [counts(SECURITY), counts(SECURITY)], False),
        (BOTH, [counts(SECURITY), counts(OWNERS)], True),
        # Somebody in both groups is one person, wherever the other one comes from.
        (BOTH, [counts(SECURITY, OWNERS)], False),
        (BOTH, [counts(SECURITY, OWNERS), counts(SECURITY)], True),
        (BOTH, [counts(SECURITY), counts(SECURITY, OWNERS)], True),
        (BOTH, [counts(free=True), counts(free=True)], False),
        (Requirement("pol_1", 3, 3, roles=(RoleSlot(SECURITY),)), [counts(SECURITY), counts(free=True)], False),
        (
            Requirement("pol_1", 3, 3, roles=(RoleSlot(SECURITY),)),
            [counts(SECURITY, free=True), counts(free=True), counts(free=True)],
            True,
        ),
        (Requirement("pol_1", 1, 2, roles=(RoleSlot(SECURITY, 2),)), [counts(SECURITY), counts(OWNERS)], False),
        (Requirement("pol_2", 1, 1), [counts(free=True)], False),  # of another policy
    ],
)
def test_what_fills_every_slot(requirement: Requirement, votes: list[Standing], met: bool) -> None:
    for order in itertools.permutations(votes):
        assert is_met(requirement, order) is met


_GROUPS = ["a", "b", "c"]


@given(
    st.dictionaries(st.sampled_from(_GROUPS), st.integers(1, 2), max_size=3),
    st.integers(0, 2),
    st.lists(st.builds(counts, st.sampled_from(_GROUPS), free=st.booleans()), max_size=5),
    st.lists(st.builds(counts, st.sampled_from(_GROUPS), st.sampled_from(_GROUPS)), max_size=2),
)
def test_the_matching_agrees_with_trying_every_assignment(
    roles: dict[str, int], free: int, single: list[Standing], double: list[Standing]
) -> None:
    needed = sum(roles.values()) + free
    if needed == 0:
        return
    requirement = Requirement("pol_1", 1, needed, roles=tuple(RoleSlot(*one) for one in sorted(roles.items())))
    slots: list[str | None] = [name for name, count in roles.items() for _ in range(count)] + [None] * free
    votes = [*single, *double]
    tried = any(
        all(vote.is_free if slot is None else slot in vote.roles for vote, slot in zip(order, slots, strict=True))
        for order in itertools.permutations(votes, len(slots))
    )
    assert is_met(requirement, votes) is tried


@pytest.mark.parametrize(
    ("requirement", "person", "is_admin", "standing"),
    [
        (Requirement("pol_1", 1, 1), Named("usr_a"), False, counts(free=True)),
        (Requirement("pol_1", 1, 1, ("usr_A",)), Named("usr_a"), False, counts(free=True)),
        (Requirement("pol_1", 1, 1, ("A@x.example",)), Named("usr_a", "a@X.example"), False, counts(free=True)),
        (Requirement("pol_1", 1, 1, ("group:security",)), Named("usr_a"), False, counts()),
        (
            Requirement("pol_1", 1, 1, ("group:security",)),
            Named("usr_a", groups=frozenset({SECURITY})),
            False,
            counts(free=True),
        ),
        (Requirement("pol_1", 1, 1, ("usr_b",)), Named("usr_a"), True, counts(free=True)),
        (BOTH, Named("usr_a", groups=frozenset({SECURITY, "others"})), False, counts(SECURITY, free=True)),
        (BOTH, Named("usr_a"), True, counts(free=True)),
    ],
)
def test_what_somebody_counts_for(requirement: Requirement, person: Named, is_admin: bool, standing: Standing) -> None:
    assert standing_in(requirement, person, is_admin=is_admin) == standing


def test_an_administrator_is_no_member_of_a_role() -> None:
    assert not can_fill(standing_in(BOTH, Named("usr_a"), is_admin=True), BOTH)


def test_so_many_denials_as_the_policy_says() -> None:
    two = Requirement("pol_1", 1, 3, denials_required=2)
    assert not is_refused(two, [counts(free=True)])
    assert is_refused(two, [counts(free=True), counts(SECURITY)])
    assert not is_refused(two, [counts(free=True), counts()])  # who counts for nothing refuses nothing


def test_who_is_kept_out() -> None:
    parties = Parties(frozenset({"usr_owner"}), {"pol_1": frozenset({"usr_author", "usr_author_2"})})
    both = Requirement("pol_1", 1, 1, separation_of_duties=tuple(Duty))
    assert parties.kept_out(both) == {
        "usr_owner": Duty.AGENT_OWNER,
        "usr_author": Duty.POLICY_AUTHOR,
        "usr_author_2": Duty.POLICY_AUTHOR,
    }
    assert parties.kept_out(Requirement("pol_2", 1, 1, separation_of_duties=(Duty.POLICY_AUTHOR,))) == {}
    assert parties.kept_out(Requirement("pol_1", 1, 1)) == {}
