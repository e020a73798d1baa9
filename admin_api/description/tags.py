"""What each group of operations is about."""

from collections.abc import Mapping
from typing import Final

TAGS: Final[Mapping[str, str]] = {
    "actions": "Actions of agents, their decisions and outcomes.",
    "agents": "Agents, their keys and their state.",
    "approvals": "Approval requests, votes, approver groups and absences.",
    "audit": "The audit log, its proofs and reports.",
    "break-glass": "Emergency exemptions for denied calls.",
    "connections": "Platform credentials that Headgate adds to calls.",
    "demo": "Requests of a website before sign-up.",
    "executions": "The queue of calls that Headgate executes.",
    "grants": "Approvals in advance for similar calls.",
    "health": "Health and metrics of the service.",
    "keys": "Keys of programs and of agents.",
    "links": "Pages that links in messages open.",
    "canaries": "Canary tokens: values that no call may hold.",
    "mcp-tools": "Tools of MCP servers, and their accepted definitions.",
    "mfa": "Second factors and recovery codes.",
    "nlp policies": "Content policies.",
    "notifications": "Messages to people, and their delivery.",
    "organizations": "Tenants, for the operator.",
    "passkeys": "A person's own passkeys.",
    "policies": "Rule policies in Rego, their data, modules, tests and versions.",
    "retention": "Legal holds and erasure.",
    "service": "Discovery documents for clients and agents.",
    "sessions": "Browser sessions.",
    "settings": "Settings of an organization.",
    "sign-in": "Browser sign-in and sign-out.",
    "traffic": "Captured exchanges.",
    "users": "People, their roles and invitations.",
    "webhooks": "Webhook endpoints, and webhooks of platforms.",
}
