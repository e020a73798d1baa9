"""Who decides through a link, a chat or a tracker: somebody with the right to, who has signed in of late."""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from headgate.approvals.mapped_voter import DEFAULT_TRUST, mapped_voter
from headgate.kernel.errors import ForbiddenError
from headgate.organizations.model import Role, User

NOW = datetime(2026, 11, 21, tzinfo=UTC)
ADA = User("org_1", "usr_1", "https://login", "ada", "ada@example.com", "Ada", frozenset({Role.APPROVER}),
           last_seen_at=NOW - DEFAULT_TRUST)  # fmt: skip


def test_a_person_votes_with_the_rights_of_their_newest_token() -> None:
    voter = mapped_voter(ADA, now=NOW, trust=DEFAULT_TRUST)
    assert (voter.user_id, voter.email, voter.is_admin) == ("usr_1", "ada@example.com", False)
    assert mapped_voter(replace(ADA, roles=frozenset({Role.ADMIN})), now=NOW, trust=DEFAULT_TRUST).is_admin


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
        mapped_voter(user, now=NOW, trust=DEFAULT_TRUST)
