"""The pages of the dashboard, a line each. What test_every_page.py and test_roles.py hold against each of them needs
nothing else: whoever adds a page adds its line."""

from dataclasses import dataclass
from typing import Final

from headgate.agents.scopes import ROLE_SCOPES, Scope, require_scope
from headgate.kernel.errors import ForbiddenError
from headgate.organizations.model import Role


@dataclass(frozen=True, slots=True)
class Page:
    """``path`` names what ``world.py`` made in braces. ``scope``: what a person needs to open it; None: to be signed
    in. ``status``: what those see who may open it. ``is_public``: everybody may, signed in or not. ``has_editor``: it
    may weigh as much as a code editor does."""

    path: str
    scope: Scope | None = None
    status: int = 200
    is_public: bool = False
    has_editor: bool = False

    @property
    def opener(self) -> Role | None:
        """The administrator, or nobody where nobody has to sign in."""
        return None if self.is_public else Role.ADMIN

    def opens_for(self, role: Role | None) -> bool:
        return self.is_public or may(role, self.scope)


def may(role: Role | None, scope: Scope | None) -> bool:
    """Whether somebody with this role (None: not signed in) gets what asks for this scope (None: a person)."""
    if scope is None or role is None:
        return role is not None
    try:
        require_scope(ROLE_SCOPES[role], scope)
    except ForbiddenError:
        return False
    return True


def path_of(page: Page) -> str:
    return page.path


PAGES: Final = (
    # inbox
    Page("/inbox", Scope.APPROVALS_READ),
    Page("/inbox?view=mine", Scope.APPROVALS_READ),
    Page("/inbox?view=decided", Scope.APPROVALS_READ),
    Page("/inbox?view=none", Scope.APPROVALS_READ, status=404),
    Page("/inbox/{approval_id}", Scope.APPROVALS_READ),
    Page("/inbox/{hostile_approval_id}", Scope.APPROVALS_READ),
    Page("/inbox/{hostile_decided_id}", Scope.APPROVALS_READ),
    Page("/inbox/{decided_approval_id}", Scope.APPROVALS_READ),
    Page("/inbox/{ticket_approval_id}", Scope.APPROVALS_READ),
    Page("/inbox/{bytes_approval_id}", Scope.APPROVALS_READ),
    Page("/grants", Scope.APPROVALS_READ),
    Page("/grants?view=all&tool=github", Scope.APPROVALS_READ),
    Page("/grants?agent=nobody", Scope.APPROVALS_READ),
    Page("/grants?view=none", Scope.APPROVALS_READ, status=404),
    Page("/grants/{grant_id}", Scope.APPROVALS_READ),
    Page("/grants/{revoked_grant_id}", Scope.APPROVALS_READ),
    Page("/break-glass", Scope.APPROVALS_READ),
    Page("/break-glass?view=all", Scope.APPROVALS_READ),
    Page("/break-glass?view=none", Scope.APPROVALS_READ, status=404),
    Page("/break-glass?action={denied_action_id}", Scope.APPROVALS_READ),
    # activity, calls, refusals, overview
    Page("/activity", Scope.ACTIONS_READ),
    Page("/executions", Scope.ACTIONS_READ),
    Page("/executions?view=dead", Scope.ACTIONS_READ),
    Page("/executions?view=none", Scope.ACTIONS_READ, status=404),
    Page("/executions/{execution_id}", Scope.ACTIONS_READ),
    Page("/executions?execution={execution_id}", Scope.ACTIONS_READ),
    Page("/overview", Scope.ACTIONS_READ),
    Page("/overview?range=30d", Scope.ACTIONS_READ),
    Page("/activity?q=decision:deny+github", Scope.ACTIONS_READ),
    Page("/activity?q=planet:mars", Scope.ACTIONS_READ, status=400),
    Page("/calls/{action_id}", Scope.ACTIONS_READ),
    Page("/activity?call={hostile_action_id}", Scope.ACTIONS_READ),
    Page("/calls/{hostile_action_id}", Scope.ACTIONS_READ),
    Page("/calls/{captured_action_id}", Scope.ACTIONS_READ),
    Page("/calls/{ticket_action_id}", Scope.ACTIONS_READ),
    Page("/calls/{text_action_id}/body", Scope.ACTIONS_READ),
    Page("/calls/{bytes_action_id}/body", Scope.ACTIONS_READ),
    Page("/calls/{bytes_action_id}/body?offset=0x1000", Scope.ACTIONS_READ),
    Page("/calls/{bytes_action_id}/body?view=text", Scope.ACTIONS_READ),
    Page("/calls/{action_id}/body", Scope.ACTIONS_READ, status=404),
    # policies
    Page("/policies", Scope.POLICIES_READ),
    Page("/policies/effect", Scope.ACTIONS_READ),
    Page("/policies/effect?run=another", Scope.ACTIONS_READ),
    Page("/policies/content", Scope.POLICIES_READ),
    Page("/policies/content/{content_policy_id}", Scope.POLICIES_READ),
    Page("/policies/new?from={action_id}", Scope.POLICIES_WRITE, has_editor=True),
    Page("/policies/content/new", Scope.POLICIES_WRITE),
    Page("/policies/content/new?template=pii_hold", Scope.POLICIES_WRITE),
    Page("/policies/new?example=payments", Scope.POLICIES_WRITE, has_editor=True),
    Page("/policies/new", Scope.POLICIES_WRITE, has_editor=True),
    Page("/policies/{policy_id}", Scope.POLICIES_READ, has_editor=True),
    Page("/policies/{hostile_policy_id}", Scope.POLICIES_READ, has_editor=True),
    Page("/policies/{policy_id}?version=1&since=1", Scope.POLICIES_READ),
    # agents, stop, settings, connections
    Page("/stop", Scope.ADMIN),
    Page("/agents", Scope.ADMIN),
    Page("/agents/new", Scope.ADMIN),
    Page("/agents/{agent_id}", Scope.ADMIN),
    Page("/agents/{hostile_agent_id}", Scope.ADMIN),
    Page("/more", Scope.APPROVALS_READ),
    Page("/settings", Scope.ADMIN),
    Page("/settings/members", Scope.ADMIN),
    Page("/settings/members/{user_id}", Scope.ADMIN),
    Page("/settings/groups", Scope.ADMIN),
    Page("/settings/groups/{group_name}", Scope.ADMIN),
    Page("/settings/models", Scope.ADMIN),
    Page("/settings/destinations", Scope.ADMIN),
    Page("/settings/executions", Scope.ADMIN),
    Page("/settings/credentials", Scope.ADMIN),
    Page("/settings/captures", Scope.ADMIN),
    Page("/settings/siem", Scope.ADMIN),
    Page("/settings/notifications", Scope.ADMIN),
    Page("/settings/notifications/channels/new", Scope.ADMIN),
    Page("/settings/notifications/channels/new?kind=slack", Scope.ADMIN),
    Page("/settings/notifications/channels/{channel}", Scope.ADMIN),
    Page("/settings/notifications/rules/{rule}", Scope.ADMIN),
    Page("/settings/notifications/messages", Scope.ADMIN),
    Page("/settings/notifications/messages/{message_id}", Scope.ADMIN),
    Page("/settings/notifications/messages/{refused_message_id}", Scope.ADMIN),
    Page("/settings/integrations", Scope.ADMIN),
    Page("/settings/integrations/slack", Scope.ADMIN),
    Page("/settings/integrations/{integration}", Scope.ADMIN),
    Page("/settings/webhooks", Scope.ADMIN),
    Page("/settings/webhooks/{webhook_id}", Scope.ADMIN),
    Page("/settings/webhooks/{refused_webhook_id}", Scope.ADMIN),
    Page("/settings/keys", Scope.ADMIN),
    Page("/settings/retention", Scope.ADMIN),
    Page("/connections", Scope.ADMIN),
    Page("/connections/new", Scope.ADMIN),
    Page("/connections/new?platform=github", Scope.ADMIN),
    Page("/connections/new?platform=bluesky", Scope.ADMIN),
    Page("/connections/new?platform=generic&way=client_credentials", Scope.ADMIN),
    Page("/connections/new?platform=generic&way=mtls", Scope.ADMIN),
    Page("/connections/new?platform=none", Scope.ADMIN, status=404),
    Page("/connections/callback", Scope.ADMIN, status=400),
    Page("/connections/{connection_id}", Scope.ADMIN),
    # audit, traffic, reports
    Page("/traffic", Scope.AUDIT_READ),
    Page("/traffic?tag=odd", Scope.AUDIT_READ),
    Page("/traffic/compare?a={exchange_id}&b={other_exchange_id}", Scope.AUDIT_READ),
    Page("/traffic/{exchange_id}", Scope.AUDIT_READ),
    Page("/traffic?exchange={exchange_id}", Scope.AUDIT_READ),
    Page("/traffic/{other_exchange_id}", Scope.AUDIT_READ),
    Page("/audit", Scope.AUDIT_READ),
    Page("/audit?event_type=approval.approved", Scope.AUDIT_READ),
    Page("/audit?tool=No+Tool", Scope.AUDIT_READ, status=404),
    Page("/audit/checkpoints", Scope.AUDIT_READ),
    Page("/audit/holds", Scope.ADMIN),
    Page("/audit/{event_id}", Scope.AUDIT_READ),
    Page("/reports", Scope.AUDIT_READ),
    # sign in, account
    Page("/account"),
    Page("/account/absences", Scope.APPROVALS_READ),
    Page("/auth/login", is_public=True),
    Page("/auth/login?signed_out=1", is_public=True),
    Page("/auth/local/nonsense", status=401, is_public=True),
    Page("{sign_in_path}", is_public=True),
    Page("/links/nonsense", status=404, is_public=True),
    Page("/errors/REQUEST_AMBIGUOUS", is_public=True),
    Page("/errors/AGENT_UNAUTHORIZED", is_public=True),
    Page("/errors/NONE", status=404, is_public=True),
)
