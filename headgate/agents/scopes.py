"""What a credential may do: the scopes of the specification's section "Authentication", and who may carry them."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from headgate.kernel.errors import ForbiddenError, ValidationError
from headgate.organizations.model import Role


class Scope(StrEnum):
    ACTIONS_WRITE = "actions:write"
    ACTIONS_READ = "actions:read"
    APPROVALS_WRITE = "approvals:write"
    APPROVALS_READ = "approvals:read"
    POLICIES_WRITE = "policies:write"
    POLICIES_READ = "policies:read"
    AUDIT_READ = "audit:read"
    BREAK_GLASS = "break_glass:write"
    ADMIN = "admin:*"
    OPERATOR = "operator:*"


class KeyKind(StrEnum):
    AGENT = "agent"
    ADMIN = "admin"
    WEBHOOK = "webhook"


KIND_SCOPES: Final[Mapping[KeyKind, frozenset[Scope]]] = MappingProxyType(
    {
        KeyKind.AGENT: frozenset({Scope.ACTIONS_WRITE, Scope.ACTIONS_READ}),
        # Breaking the glass and making organizations is a person's: no key carries them.
        KeyKind.ADMIN: frozenset(Scope) - {Scope.BREAK_GLASS, Scope.OPERATOR},
        # Its kind is its right: reading webhook endpoints and their deliveries (admin_api.access).
        KeyKind.WEBHOOK: frozenset(),
    }
)
"""The most that a key of each kind may carry (specification, "Authentication": key types)."""

_READS: Final = frozenset({Scope.ACTIONS_READ, Scope.APPROVALS_READ, Scope.POLICIES_READ})

ROLE_SCOPES: Final[Mapping[Role, frozenset[Scope]]] = MappingProxyType(
    {
        Role.ADMIN: frozenset({Scope.ADMIN}),
        Role.APPROVER: _READS | {Scope.APPROVALS_WRITE},
        Role.AUDITOR: _READS | {Scope.AUDIT_READ},
        Role.VIEWER: _READS,
        Role.BREAK_GLASS: _READS | {Scope.BREAK_GLASS},
        Role.OPERATOR: frozenset({Scope.OPERATOR}),
    }
)


def scopes_of_roles(roles: Iterable[Role]) -> frozenset[Scope]:
    """What a person with these roles may do: the union."""
    return frozenset().union(*(ROLE_SCOPES[role] for role in roles))


def may_approve(roles: Iterable[Role]) -> bool:
    """Whether a person with these roles decides approvals at all."""
    return not scopes_of_roles(roles).isdisjoint({Scope.APPROVALS_WRITE, Scope.ADMIN})


def is_administrator(roles: Iterable[Role]) -> bool:
    """Whether a person with these roles carries ``admin:*``."""
    return Scope.ADMIN in scopes_of_roles(roles)


def scopes_within_roles(scopes: frozenset[Scope], roles: Iterable[Role]) -> frozenset[Scope]:
    """What a key may do whose owner has these roles now: a key never outlives the rights of the person behind it."""
    owned = scopes_of_roles(roles)
    return frozenset(scope for scope in Scope if includes_scope(scopes, scope) and includes_scope(owned, scope))


def require_scope(held: frozenset[Scope], required: Scope) -> None:
    """Raises ForbiddenError, which names the missing scope."""
    if not includes_scope(held, required):
        raise ForbiddenError(f"this credential lacks the scope {required}", details={"missing_scope": required.value})


def includes_scope(held: frozenset[Scope], required: Scope) -> bool:
    """``admin:*`` includes every other but ``break_glass:write``: who may change the policies does so on record, and
    does not step around them; and but ``operator:*``, which is not about one organization."""
    return required in held or (Scope.ADMIN in held and required not in (Scope.BREAK_GLASS, Scope.OPERATOR))


def roles_with(required: Scope) -> list[Role]:
    """Whom to ask, for somebody who lacks the scope."""
    return [role for role in Role if includes_scope(ROLE_SCOPES[role], required)]


def parse_scopes(kind: KeyKind, names: Iterable[str]) -> frozenset[Scope]:
    """The scopes asked for, checked against the key's kind. Raises ValidationError."""
    known = {scope.value for scope in Scope}
    wanted = list(names)
    if unknown := sorted(set(wanted) - known):
        raise ValidationError(
            f"unknown scope: {', '.join(unknown)[:200]}",
            details={"field": "scopes", "reason": "unknown scope", "known": sorted(known)},
        )
    scopes = frozenset(Scope(name) for name in wanted)
    if excess := sorted(scopes - KIND_SCOPES[kind]):
        raise ValidationError(
            f"a key of kind {kind} cannot carry {', '.join(excess)}",
            details={"field": "scopes", "reason": "not for this kind", "allowed": sorted(KIND_SCOPES[kind])},
        )
    if not scopes and KIND_SCOPES[kind]:
        raise ValidationError(
            f"a key of kind {kind} needs at least one scope",
            details={"field": "scopes", "reason": "empty", "allowed": sorted(KIND_SCOPES[kind])},
        )
    return scopes
