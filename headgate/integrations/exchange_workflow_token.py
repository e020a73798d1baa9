"""Exchanges a workflow's token for an agent key: valid for fifteen minutes, once per token (after RFC 8693, section 1).

The organization's bindings select the agent: the first whose patterns match the token's claims. No match: no key.
"""

from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from headgate.agents.issue_agent_key import issue_agent_key
from headgate.audit.change import Change
from headgate.audit.model import Actor, ActorType
from headgate.db.database import Database
from headgate.integrations.github_actions.settings import GitHubActionsSettings
from headgate.integrations.github_actions.workflow_token import WorkflowTokens
from headgate.integrations.inbound import connected_to
from headgate.integrations.model import Integration, Receipt, ReceiptOutcome
from headgate.integrations.store import insert_receipt
from headgate.kernel.canonical_json import JsonObject, parse_strict
from headgate.kernel.clock import Clock
from headgate.kernel.errors import ForbiddenError, NotFoundError, UnauthorizedError, ValidationError
from headgate.kernel.secrets import Secret
from headgate.kernel.visible_text import visible
from headgate.organizations.change import begin_change
from headgate.vault.service import Vault

KEY_LIFETIME: Final = timedelta(minutes=15)


class ExchangedKey(Struct, frozen=True):
    agent_id: str
    key: Secret
    expires_at: datetime


class ExchangeWorkflowToken(Struct, frozen=True):
    """The use case behind /webhooks/github-actions/{connection_id}."""

    database: Database
    vault: Vault
    clock: Clock
    tokens: WorkflowTokens

    async def exchange(self, connection_id: str, body: bytes) -> ExchangedKey:
        """``body``: ``{"token": …}``. Raises NotFoundError, ValidationError, UnauthorizedError, ForbiddenError (no
        binding), ConflictError (the agent is not active), UnavailableError."""
        connected = await connected_to(self.database, self.vault, Integration.GITHUB_ACTIONS, connection_id)
        settings = connected.settings
        if not isinstance(settings, GitHubActionsSettings):
            raise NotFoundError("no such connection")
        claims = await self.tokens.verify(
            _token(body),
            org_id=connected.org_id,
            issuer=settings.issuer,
            audience=settings.audience,
            rules=connected.rules,
        )
        binding = next((one for one in settings.bindings if one.fits(claims)), None)
        subject, now = str(claims["sub"]), self.clock()
        if binding is None:
            raise ForbiddenError(
                f"no agent is bound to {visible(subject)}: an administrator can bind one under"
                " /admin/settings/github-actions",
                details={"sub": subject, "repository": claims.get("repository"), "ref": claims.get("ref")},
            )
        by = Change(connected.org_id, Actor(ActorType.SYSTEM, "github-actions", visible(subject)), None, now)
        receipt = Receipt(
            connected.connection_id, f"jti:{claims['jti']}", now, ReceiptOutcome.EXCHANGED, None, visible(subject)
        )
        async with begin_change(self.database, by) as change:
            if not await insert_receipt(change.connection, connected.org_id, receipt):
                raise UnauthorizedError("this token was already used: request another one")
            issued = await issue_agent_key(change, binding.agent_id, _name(claims), KEY_LIFETIME)
        return ExchangedKey(binding.agent_id, issued.key, now + KEY_LIFETIME)


def _token(body: bytes) -> Secret:
    document = parse_strict(body)
    token = document.get("token") if isinstance(document, dict) and len(document) == 1 else None
    if not isinstance(token, str):
        raise ValidationError('{"token": …} is expected', details={"field": "token", "reason": "required"})
    return Secret(token)


def _name(claims: JsonObject) -> str:
    return visible(f"{claims.get('repository')} run {claims.get('run_id')}")
