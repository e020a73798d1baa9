"""What the routes that platforms call work with: decisions and requests that come from where people are."""

from msgspec import Struct

from headgate.agents.authenticate import KeyRing
from headgate.approvals.decide import DecideApproval
from headgate.db.database import Database
from headgate.gate.submit_action import SubmitAction
from headgate.integrations.decide_from_discord import DecideFromDiscord
from headgate.integrations.decide_from_slack import DecideFromSlack
from headgate.integrations.decide_from_tracker import DecideFromTracker
from headgate.integrations.exchange_workflow_token import ExchangeWorkflowToken
from headgate.integrations.github_actions.workflow_token import WorkflowTokens
from headgate.integrations.receive_from_github import ReceiveFromGitHub
from headgate.kernel.clock import Clock
from headgate.outgoing.client import OutgoingClient
from headgate.tools.match import CatalogueIndex
from headgate.vault.service import Vault


class InboundWork(Struct, frozen=True):
    slack: DecideFromSlack
    discord: DecideFromDiscord
    tracker: DecideFromTracker
    github: ReceiveFromGitHub
    workflow_tokens: ExchangeWorkflowToken


def inbound_work(
    *,
    database: Database,
    vault: Vault,
    client: OutgoingClient,
    clock: Clock,
    keys: KeyRing,
    decide: DecideApproval,
    submit: SubmitAction,
    catalogue: CatalogueIndex,
) -> InboundWork:
    return InboundWork(
        slack=DecideFromSlack(database, vault, client, clock, decide),
        discord=DecideFromDiscord(database, vault, clock, decide),
        tracker=DecideFromTracker(database, vault, client, clock, decide),
        github=ReceiveFromGitHub(database, vault, clock, keys, submit, catalogue),
        workflow_tokens=ExchangeWorkflowToken(database, vault, clock, WorkflowTokens(client, clock)),
    )
