"""Changes that a person or a program makes through the API, recorded as theirs."""

from contextlib import AbstractAsyncContextManager

from admin_api.dependencies import Dependencies
from admin_api.principal import Principal
from headgate.audit.change import Change
from headgate.organizations.change import OrganizationChange, begin_change


def change_by(principal: Principal, dependencies: Dependencies, org_id: str | None = None) -> Change:
    """``org_id``: of the organization whose state changes, if it is not the principal's own."""
    return Change(org_id or principal.org_id, principal.actor, principal.user_id, dependencies.clock())


def administer(
    principal: Principal, dependencies: Dependencies, org_id: str | None = None
) -> AbstractAsyncContextManager[OrganizationChange]:
    """Begins a change by the principal, in its own transaction."""
    return begin_change(dependencies.database, change_by(principal, dependencies, org_id))
