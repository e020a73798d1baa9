"""What a message says: services refuse one without a body."""

import pytest

from headgate.notifications.message import message_of


@pytest.mark.parametrize(
    ("payload", "title", "text"),
    [
        (
            {"event": "notification.test", "timestamp": "2026-11-21T09:30:00Z"},
            "Headgate can reach this channel",
            "Headgate can reach this channel",
        ),
        (
            {"event": "approval.denied", "tool": "mail", "operation": "send", "agent_name": "Robo\u202et"},
            "Denied: mail.send",
            "Agent: Robo\\u{202e}t\nCall: mail.send",
        ),
        (
            {
                "event": "approval.requested",
                "tool": "http",
                "operation": "post",
                "call": "POST https://api.example.com",
                "risk_level": "high",
            },
            "Approval needed: POST https://api.example.com (high risk)",
            "Call: POST https://api.example.com",
        ),
        (
            {"event": "policy.quarantined", "policy": "Payments", "reason": "it was running when a process died"},
            "A policy was quarantined",
            "Policy: Payments\nWhy: it was running when a process died",
        ),
        (
            {"event": "mcp_tool.changed", "agent_name": "Robot", "mcp_tool": "send-mail of mcp_tools_example"},
            "An MCP tool is not what was accepted",
            "Agent: Robot\nTool: send-mail of mcp_tools_example",
        ),
    ],
)
def test_title_and_text(payload, title: str, text: str) -> None:
    message = message_of(payload, None)
    assert (message.title, message.text) == (title, text)
