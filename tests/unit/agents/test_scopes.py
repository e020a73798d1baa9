import pytest

from headgate.agents.scopes import (
    KIND_SCOPES,
    ROLE_SCOPES,
    KeyKind,
    Scope,
    parse_scopes,
    require_scope,
    scopes_of_roles,
)
from headgate.kernel.errors import ForbiddenError, ValidationError
from headgate.organizations.model import Role

_PERSONS = {Scope.BREAK_GLASS, Scope.OPERATOR}


def test_the_scopes_are_the_specifications() -> None:
    """And two of Headgate's own."""
    assert [scope.value for scope in Scope if scope not in _PERSONS] == [
        "actions:write",
        "actions:read",
        "approvals:write",
        "approvals:read",
        "policies:write",
        "policies:read",
        "audit:read",
        "admin:*",
    ]
    assert set(KIND_SCOPES) == set(KeyKind)
    assert set(ROLE_SCOPES) == set(Role)


@pytest.mark.parametrize(
    ("kind", "names", "expected"),
    [
        (KeyKind.AGENT, ["actions:read"], {Scope.ACTIONS_READ}),
        (KeyKind.AGENT, ["actions:read", "actions:write", "actions:read"], {Scope.ACTIONS_READ, Scope.ACTIONS_WRITE}),
        (KeyKind.ADMIN, sorted(set(Scope) - _PERSONS), set(Scope) - _PERSONS),
        (KeyKind.WEBHOOK, [], set()),
    ],
)
def test_what_a_kind_may_carry(kind: KeyKind, names: list[str], expected: set[Scope]) -> None:
    assert parse_scopes(kind, names) == expected


@pytest.mark.parametrize(
    ("kind", "names", "reason"),
    [
        (KeyKind.AGENT, ["approvals:write"], "not for this kind"),
        (KeyKind.AGENT, ["admin:*"], "not for this kind"),
        (KeyKind.AGENT, [], "empty"),
        (KeyKind.ADMIN, [], "empty"),
        (KeyKind.ADMIN, ["actions:*"], "unknown scope"),
        (KeyKind.ADMIN, ["break_glass:write"], "not for this kind"),
        (KeyKind.ADMIN, ["operator:*"], "not for this kind"),
        (KeyKind.WEBHOOK, ["actions:read"], "not for this kind"),
    ],
)
def test_what_a_kind_may_not_carry(kind: KeyKind, names: list[str], reason: str) -> None:
    with pytest.raises(ValidationError) as caught:
        parse_scopes(kind, names)
    assert caught.value.details is not None
    assert caught.value.details["reason"] == reason


@pytest.mark.parametrize("required", list(Scope))
def test_a_missing_scope_is_named(required: Scope) -> None:
    with pytest.raises(ForbiddenError, match=required.replace("*", r"\*")):
        require_scope(frozenset(Scope) - {required, Scope.ADMIN}, required)
    require_scope(frozenset({required}), required)
    if required not in _PERSONS:
        require_scope(frozenset({Scope.ADMIN}), required)


@pytest.mark.parametrize("scope", sorted(_PERSONS))
def test_an_administrator_does_not_break_the_glass_by_being_one_nor_make_organizations(scope: Scope) -> None:
    with pytest.raises(ForbiddenError, match=scope.replace("*", r"\*")):
        require_scope(frozenset({Scope.ADMIN}), scope)


def test_writing_does_not_include_reading() -> None:
    with pytest.raises(ForbiddenError):
        require_scope(frozenset({Scope.ACTIONS_WRITE}), Scope.ACTIONS_READ)


def test_roles_add_up() -> None:
    assert scopes_of_roles([]) == frozenset()
    assert scopes_of_roles([Role.APPROVER, Role.AUDITOR]) == {
        Scope.ACTIONS_READ,
        Scope.APPROVALS_READ,
        Scope.APPROVALS_WRITE,
        Scope.POLICIES_READ,
        Scope.AUDIT_READ,
    }
    assert Scope.ADMIN not in scopes_of_roles(set(Role) - {Role.ADMIN})
