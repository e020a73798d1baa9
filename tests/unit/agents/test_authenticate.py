from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from headgate.agents.authenticate import identity_of
from headgate.agents.model import AgentStatus
from headgate.agents.scopes import KeyKind, Scope
from headgate.agents.store import FoundKey
from headgate.kernel.errors import UnauthorizedError
from headgate.organizations.model import Role

NOW = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)
FOUND = FoundKey(
    org_id="org_1",
    key_id="key_1",
    kind=KeyKind.AGENT,
    agent_id="agt_1",
    agent_name="Robot",
    agent_status=AgentStatus.ACTIVE,
    user_id="usr_1",
    scopes=frozenset({Scope.ACTIONS_WRITE}),
    expires_at=None,
    revoked_at=None,
    generation=7,
)


@pytest.mark.parametrize(
    "found",
    [
        FOUND,
        replace(FOUND, expires_at=NOW + timedelta(microseconds=1)),
        replace(FOUND, kind=KeyKind.ADMIN, agent_id=None, agent_name=None, agent_status=None),
    ],
)
def test_a_key_that_works(found: FoundKey) -> None:
    identity = identity_of(found, NOW)
    assert (identity.key_id, identity.generation, identity.agent_id) == ("key_1", 7, found.agent_id)


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (None, "unknown or revoked"),
        (replace(FOUND, revoked_at=NOW), "unknown or revoked"),
        (replace(FOUND, revoked_at=NOW + timedelta(days=1)), "unknown or revoked"),
        (replace(FOUND, agent_status=AgentStatus.DEACTIVATED), "unknown or revoked"),
        (replace(FOUND, agent_status=None), "unknown or revoked"),
        (replace(FOUND, agent_status=AgentStatus.SUSPENDED), "agent is suspended"),
        (replace(FOUND, agent_status=AgentStatus.SUSPENDED, revoked_at=NOW), "unknown or revoked"),
        (replace(FOUND, agent_status=AgentStatus.SUSPENDED, expires_at=NOW), "expired"),
        (replace(FOUND, expires_at=NOW), "expired"),
        (replace(FOUND, expires_at=NOW - timedelta(days=1)), "expired"),
        (replace(FOUND, expires_at=NOW, revoked_at=NOW), "unknown or revoked"),
    ],
)
def test_a_key_that_does_not(found: FoundKey | None, message: str) -> None:
    with pytest.raises(UnauthorizedError, match=message):
        identity_of(found, NOW)


_PROGRAMS = replace(FOUND, kind=KeyKind.ADMIN, agent_id=None, agent_name=None, agent_status=None)
_READS = {Scope.ACTIONS_READ, Scope.APPROVALS_READ, Scope.POLICIES_READ}


@pytest.mark.parametrize(
    ("scopes", "roles", "left"),
    [
        ({Scope.ADMIN}, None, {Scope.ADMIN}),
        ({Scope.AUDIT_READ}, {Role.ADMIN}, {Scope.AUDIT_READ}),
        ({Scope.ADMIN}, {Role.VIEWER}, _READS),
        ({Scope.ADMIN}, {Role.APPROVER}, _READS | {Scope.APPROVALS_WRITE}),
        ({Scope.AUDIT_READ, Scope.APPROVALS_READ}, {Role.APPROVER}, {Scope.APPROVALS_READ}),
        ({Scope.ADMIN}, {Role.OPERATOR}, set()),
        ({Scope.ADMIN}, {Role.BREAK_GLASS}, _READS),
        ({Scope.ADMIN}, set(), set()),
    ],
)
def test_a_key_may_do_no_more_than_its_owner(scopes: set[Scope], roles: set[Role] | None, left: set[Scope]) -> None:
    found = replace(_PROGRAMS, scopes=frozenset(scopes), owner_roles=None if roles is None else frozenset(roles))
    assert identity_of(found, NOW).scopes == left


def test_a_webhook_key_is_an_administrators() -> None:
    found = replace(_PROGRAMS, kind=KeyKind.WEBHOOK, scopes=frozenset(), owner_roles=frozenset({Role.ADMIN}))
    assert identity_of(found, NOW).kind is KeyKind.WEBHOOK
    with pytest.raises(UnauthorizedError, match="no longer an administrator"):
        identity_of(replace(found, owner_roles=frozenset({Role.APPROVER})), NOW)
