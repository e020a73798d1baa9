"""The standing of a vote: the requirements and slots that it counts for (docs/guides/approvals.md).

Each vote that a requirement needs is a slot. A role's slot takes a member of its group only. Any other slot takes an
assignee, or any approver if the requirement names no assignee. A vote fills at most one slot of each requirement, so a
person in two groups does not count twice. Pure: names and groups are those at the time of the vote.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct, field

from headgate.kernel.canonical_json import JsonObject
from headgate.organizations.mail_addresses import lower_ascii
from headgate.policies.model import Requirement
from headgate.policies.terms import GROUP_PREFIX, Duty


class Standing(Struct, frozen=True):
    """The standing of a vote in one policy's requirement: ``is_free`` for slots without a role, ``roles`` for slots of
    these groups."""

    policy_id: str
    is_free: bool
    roles: tuple[str, ...] = ()

    def record(self) -> JsonObject:
        return {"policy_id": self.policy_id, "free": self.is_free, "roles": list(self.roles)}


class Named(Struct, frozen=True):
    """A person by every name that approvals use: id, e-mail address, groups. ``groups`` are names without prefix.

    ``also``: the person's other users (``persons_of``). They are no names: an assignment names one user.
    """

    user_id: str
    email: str | None = None
    groups: frozenset[str] = frozenset()
    also: frozenset[str] = frozenset()

    @property
    def names(self) -> frozenset[str]:
        """Every name that an assignment may use for this person, with ASCII letters in lower case."""
        own = {lower_ascii(self.user_id), *(GROUP_PREFIX + group for group in self.groups)}
        return frozenset(own if self.email is None else own | {lower_ascii(self.email)})

    @property
    def users(self) -> frozenset[str]:
        return self.also | {self.user_id}


class AgentOwner(Struct, frozen=True):
    """The people who own an agent: ``users`` are the one who created it and those whom its ``owner`` names; ``address``
    is that of its ``owner``, ASCII letters in lower case. Empty and None: no person is known."""

    users: frozenset[str] = frozenset()
    address: str | None = None


NO_OWNER: Final = AgentOwner()


class Parties(Struct, frozen=True):
    """People whom separation of duties may bar: the agent's owners, and each policy's author, by policy; each as all
    of their users. Empty or absent: unknown, so the rule bars no person.

    ``owner_address``: bars a person who votes with a token of this address, even if their newest token names another.
    """

    agent_owner: frozenset[str] = frozenset()
    policy_authors: Mapping[str, frozenset[str]] = field(default_factory=dict)
    owner_address: str | None = None

    def kept_out(self, requirement: Requirement) -> dict[str, Duty]:
        """The users who may not decide this requirement, and why."""
        users: dict[str, Duty] = {}
        for duty in requirement.separation_of_duties:
            is_owner = duty is Duty.AGENT_OWNER
            person = self.agent_owner if is_owner else self.policy_authors.get(requirement.policy_id, frozenset())
            for user_id in person:
                users.setdefault(user_id, duty)
        return users

    def duty_of(self, person: Named, requirement: Requirement) -> Duty | None:
        """Why this person may not decide this requirement; None: they may."""
        if Duty.AGENT_OWNER in requirement.separation_of_duties and self._is_owner_address(person.email):
            return Duty.AGENT_OWNER
        kept_out = self.kept_out(requirement)
        return next((kept_out[user_id] for user_id in sorted(person.users) if user_id in kept_out), None)

    def _is_owner_address(self, email: str | None) -> bool:
        return self.owner_address is not None and email is not None and lower_ascii(email) == self.owner_address


NO_PARTIES: Final = Parties()


def parties_among(
    persons: Mapping[str, frozenset[str]], agent_owner: AgentOwner, policy_authors: Mapping[str, str | None]
) -> Parties:
    """``persons``: of every user that is named (``persons_of``)."""
    return Parties(
        frozenset().union(*(persons[user_id] for user_id in agent_owner.users)),
        {policy_id: persons[author] for policy_id, author in policy_authors.items() if author is not None},
        agent_owner.address,
    )


def standing_in(requirement: Requirement, person: Named, *, is_admin: bool = False) -> Standing:
    """``admin:*`` counts for any assignee slot, and for no role's slot."""
    named = {lower_ascii(name) for name in requirement.named}
    return Standing(
        policy_id=requirement.policy_id,
        is_free=not named or is_admin or not named.isdisjoint(person.names),
        roles=tuple(slot.group for slot in requirement.roles if slot.group in person.groups),
    )


def can_fill(standing: Standing, requirement: Requirement) -> bool:
    """Whether an approval with this standing fills any slot of the requirement."""
    return bool(standing.roles) or (standing.is_free and requirement.free_slots > 0)


def can_refuse(standing: Standing) -> bool:
    """Whether a denial with this standing counts: any assignee may deny."""
    return standing.is_free or bool(standing.roles)


def is_met(requirement: Requirement, approvals: Iterable[Standing]) -> bool:
    """Whether these votes fill every slot, each vote one (a maximum matching, by augmenting paths)."""
    slots: list[str | None] = [slot.group for slot in requirement.roles for _ in range(slot.count)]
    slots += [None] * requirement.free_slots
    filled: dict[int, int] = {}
    votes = [standing for standing in approvals if standing.policy_id == requirement.policy_id]
    return sum(_place(vote, votes, slots, filled, set()) for vote in range(len(votes))) == len(slots) > 0


def _place(
    vote: int, votes: Sequence[Standing], slots: Sequence[str | None], filled: dict[int, int], tried: set[int]
) -> bool:
    """Give the vote a slot, moving others where that makes room."""
    for number, group in enumerate(slots):
        fits = votes[vote].is_free if group is None else group in votes[vote].roles
        if not fits or number in tried:
            continue
        tried.add(number)
        if number not in filled or _place(filled[number], votes, slots, filled, tried):
            filled[number] = vote
            return True
    return False


def is_refused(requirement: Requirement, denials: Iterable[Standing]) -> bool:
    """Whether the denials reach the number that this requirement needs to refuse."""
    counted = [one for one in denials if one.policy_id == requirement.policy_id and can_refuse(one)]
    return len(counted) >= requirement.denials_required
