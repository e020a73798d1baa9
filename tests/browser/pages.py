"""The pages of the dashboard, a line each. What test_every_page.py and test_roles.py hold against each of them needs
nothing else: whoever adds a page adds its line."""

from dataclasses import dataclass
from typing import Final

from headgate.agents.scopes import ROLE_SCOPES, Scope, require_scope
from headgate.kernel.errors import ForbiddenError
from headgate.organizations.model import Role


@dataclass(frozen=True, slots=True)
class Page:
    """``path`` names what ``world.py`` made in braces. ``scope``: who may open it; None: everybody, signed in or not.
    ``status``: what those see who may open it."""

    path: str
    scope: Scope | None
    status: int = 200

    def opens_for(self, role: Role | None) -> bool:
        """None: somebody who is not signed in."""
        if self.scope is None or role is None:
            return self.scope is None
        try:
            require_scope(ROLE_SCOPES[role], self.scope)
        except ForbiddenError:
            return False
        return True


PAGES: Final = (
    # inbox
    Page("/inbox", Scope.APPROVALS_READ),
    Page("/inbox?view=mine", Scope.APPROVALS_READ),
    Page("/inbox?view=decided", Scope.APPROVALS_READ),
    Page("/inbox?view=none", Scope.APPROVALS_READ, status=404),
    Page("/inbox/{approval_id}", Scope.APPROVALS_READ),
    Page("/inbox/{hostile_approval_id}", Scope.APPROVALS_READ),
    Page("/inbox/{decided_approval_id}", Scope.APPROVALS_READ),
    # activity, calls, refusals, overview
    # policies
    # agents, stop, settings, connections
    Page("/stop", Scope.ADMIN),
    Page("/more", Scope.APPROVALS_READ),
    # audit, traffic, reports
    Page("/reports", Scope.AUDIT_READ),
    # sign in, account
    Page("/auth/login", None),
    Page("/auth/login?signed_out=1", None),
    Page("/auth/local/nonsense", None, status=401),
    Page("{sign_in_path}", None),
    Page("/links/nonsense", None, status=404),
)
