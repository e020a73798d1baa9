"""Submits a deployment or a pull request as an action of the configured agent, and reports the outcome to GitHub.

A repeated webhook finds its action by the idempotency key, which covers all that policies read, and changes nothing. An
immediate verdict is reported immediately; a held action is reported when its approval ends.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from msgspec import Struct

from headgate.actions.model import ActionStatus
from headgate.actions.request import ActionSubmission, draft_of
from headgate.actions.store import get_action
from headgate.agents.authenticate import KeyRing
from headgate.agents.issue_agent_key import issue_agent_key
from headgate.audit.change import Change
from headgate.audit.model import Actor, ActorType
from headgate.db.database import Database
from headgate.gate.candidate import Submission
from headgate.gate.submit_action import SubmitAction
from headgate.integrations.github.settings import GitHubSettings
from headgate.integrations.github.webhook import ApprovalPoint, point_of
from headgate.integrations.inbound import IGNORED, REPEATED, Connected, connected_to
from headgate.integrations.model import Integration, Item, Receipt, ReceiptOutcome
from headgate.integrations.relay import put_delivery
from headgate.integrations.service import new_delivery
from headgate.integrations.store import has_receipt, insert_item, insert_receipt
from headgate.journal.apply import require_applied
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.clock import Clock
from headgate.kernel.errors import NotFoundError, UnauthorizedError
from headgate.organizations.change import begin_change
from headgate.tools.match import CatalogueIndex
from headgate.vault.service import Vault

ANSWERED: Final = "integration.answered"
_KEY_LIFETIME: Final = timedelta(minutes=5)
_OUTCOMES: Final = {
    ActionStatus.ALLOWED: "approved",
    ActionStatus.APPROVED: "approved",
    ActionStatus.DENIED: "denied",
}


class ReceiveFromGitHub(Struct, frozen=True):
    """The use case behind the App's webhook."""

    database: Database
    vault: Vault
    clock: Clock
    keys: KeyRing
    submit_action: SubmitAction
    catalogue: CatalogueIndex

    async def receive(self, connection_id: str, headers: Mapping[str, str], body: bytes) -> str:
        """Returns the outcome in one word. Raises NotFoundError, UnauthorizedError, ValidationError, ConflictError
        (the agent is not active), UnavailableError."""
        connected = await connected_to(self.database, self.vault, Integration.GITHUB, connection_id)
        settings, secret = connected.settings, connected.secrets.get("webhook_secret")
        if not isinstance(settings, GitHubSettings):
            raise NotFoundError("no such connection")
        if secret is None:
            raise UnauthorizedError("the webhook secret of this connection is not set")
        point = point_of(headers, body, secret, settings, self.clock())
        if point is None:
            return IGNORED
        async with self.database.transaction(connected.org_id) as connection:
            if await has_receipt(connection, connected.org_id, connected.connection_id, point.receipt_id):
                return REPEATED
        action_id = await self._submit(connected, settings, point)
        return await self._tell(connected, point, action_id)

    async def _submit(self, connected: Connected, settings: GitHubSettings, point: ApprovalPoint) -> str:
        actor = Actor(ActorType.SYSTEM, "github", point.sender)
        by = Change(connected.org_id, actor, None, self.clock())
        async with begin_change(self.database, by) as change:
            name = f"GitHub {point.opened.external_key}"
            key = (await issue_agent_key(change, settings.agent_id, name, _KEY_LIFETIME)).key
        identity = await self.keys.authenticate(key.reveal(), fresh=True)
        submission = ActionSubmission(
            tool="github",
            operation=point.kind.value,
            params=point.params,
            context=point.context,
            idempotency_key=f"github {point.digest.hex()}",
            parent_action_id=None,
            delegation_context=None,
            request_digest=point.digest,
        )
        submitted = await self.submit_action.submit(
            key,
            identity,
            draft_of(submission, self.catalogue, []),
            Submission(submission.idempotency_key, submission.request_digest, None),
        )
        return submitted.action_id

    async def _tell(self, connected: Connected, point: ApprovalPoint, action_id: str) -> str:
        org_id, now = connected.org_id, self.clock()
        change = Change(org_id, Actor(ActorType.SYSTEM, "github", point.sender), None, now)
        await require_applied(self.database, org_id)
        async with self.database.transaction(org_id) as connection:
            action = (await get_action(connection, org_id, action_id)).action
            subject = action.approval_id or action_id
            receipt = Receipt(
                connected.connection_id, point.receipt_id, now, ReceiptOutcome.REQUESTED, subject, point.sender
            )
            if not await insert_receipt(connection, org_id, receipt):
                return REPEATED
            if await insert_item(connection, org_id, Integration.GITHUB, Item(subject, point.opened, b"")):
                payload: JsonObject = {
                    "event": ANSWERED,
                    "approval_id": subject,
                    "action_id": action_id,
                    "outcome": _OUTCOMES.get(action.status),
                    "message": f"{action.decision.reason} ({action_id})",
                }
                delivery = new_delivery(
                    change, Integration.GITHUB, ANSWERED, payload, event_id=None, subject_id=subject
                )
                await put_delivery(connection, Integration.GITHUB, delivery)
        return ReceiptOutcome.REQUESTED
