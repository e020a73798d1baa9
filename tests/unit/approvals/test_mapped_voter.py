"""Who decides through a link, a chat or a tracker: somebody with the right to, who has signed in of late."""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from headgate.approvals.mapped_voter import DEFAULT_TRUST, mapped_voter, no_issuer
from headgate.kernel.errors import ForbiddenError
from headgate.organizations.model import Role, User

NOW = datetime(2026, 11, 21, tzinfo=UTC)
ADA = User("org_1", "usr_1", "https://login", "ada", "ada@example.com", "Ada", frozenset({Role.APPROVER}),
           last_seen_at=NOW - DEFAULT_TRUST)  # fmt: skip


def _all(org_id: str, issuer: str, roles: frozenset[Role]) -> frozenset[Role]:
    return roles


def test_a_person_votes_with_the_rights_of_their_newest_token() -> None:
    voter = mapped_voter(ADA, now=NOW, trust=DEFAULT_TRUST, roles_now=_all)
    assert (voter.user_id, voter.email, voter.is_admin) == ("usr_1", "ada@example.com", False)
    assert mapped_voter(
        replace(ADA, roles=frozenset({Role.ADMIN})), now=NOW, trust=DEFAULT_TRUST, roles_now=_all
    ).is_admin


@pytest.mark.parametrize(
    ("user", "says"),
    [
        (replace(ADA, last_seen_at=NOW - DEFAULT_TRUST - timedelta(seconds=1)), "sign-in to Headgate, on 2026-10-21"),
        (replace(ADA, last_seen_at=None), "never"),
        (replace(ADA, roles=frozenset({Role.VIEWER})), "may not decide"),
        (replace(ADA, deactivated_at=NOW), "was deactivated"),
    ],
    ids=["too long ago", "never", "no right", "shut out"],
)
def test_nobody_else_does(user: User, says: str) -> None:
    with pytest.raises(ForbiddenError, match=says):
        mapped_voter(user, now=NOW, trust=DEFAULT_TRUST, roles_now=_all)


@pytest.mark.parametrize("role", [Role.APPROVER, Role.ADMIN])
def test_nobody_does_whose_issuer_is_not_trusted(role: Role) -> None:
    with pytest.raises(ForbiddenError, match="no longer trusted"):
        mapped_voter(replace(ADA, roles=frozenset({role})), now=NOW, trust=DEFAULT_TRUST, roles_now=no_issuer)


def test_the_roles_that_the_issuer_is_trusted_with_count() -> None:
    def asked(org_id: str, issuer: str, roles: frozenset[Role]) -> frozenset[Role]:
        assert (org_id, issuer) == ("org_1", "https://login")
        return roles - {Role.ADMIN}

    both = replace(ADA, roles=frozenset({Role.APPROVER, Role.ADMIN}))
    assert not mapped_voter(both, now=NOW, trust=DEFAULT_TRUST, roles_now=asked).is_admin
