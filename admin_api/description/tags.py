"""What each group of operations is about."""

from collections.abc import Mapping
from typing import Final

TAGS: Final[Mapping[str, str]] = {
    "actions": "What agents do or want to do, and what became of it.",
    "agents": "Agents, their keys and their state.",
    "approvals": "What waits for people, their votes, groups and absences.",
    "audit": "The record, its proofs and reports.",
    "break-glass": "Calls that go through once although they were denied.",
    "connections": "Credentials of platforms that calls carry.",
    "demo": "What a website sends before anybody has an account.",
    "executions": "The queue of calls that are carried out here.",
    "grants": "Approvals of calls that are alike.",
    "health": "Whether the service works, and its figures.",
    "keys": "Keys of programs and of agents.",
    "links": "Pages that links in messages open.",
    "mfa": "Second factors and recovery codes.",
    "nlp policies": "Policies that judge text.",
    "notifications": "Messages to people, and how they arrived.",
    "organizations": "Tenants, for the operator.",
    "passkeys": "A person's own passkeys.",
    "policies": "Rule policies in Rego, their data, modules, tests and versions.",
    "retention": "Legal holds and erasure.",
    "service": "What a client or an agent reads first.",
    "sessions": "Browser sessions.",
    "settings": "What an organization has set.",
    "sign-in": "Signing in and out by a browser.",
    "traffic": "Captured exchanges.",
    "users": "People, their roles and invitations.",
    "webhooks": "Endpoints of events, and what platforms send.",
}
