"""Worked examples: data, so that what agents read and what the tests execute are the same."""

from typing import Final

from admin_api.discovery.model import Example

EXAMPLES: Final = (
    Example(
        title="Propose an action before you execute it",
        method="POST",
        path="/v1/actions",
        body={
            "tool": "calendar",
            "operation": "create_event",
            "params": {"title": "Review", "start": "2027-01-11T10:00:00Z"},
            "idempotency_key": "review-2027-01-11",
        },
        expected_status=(201, 202),
        keep={"action_id": "id"},
    ),
    Example(
        title="Propose it again: the same idempotency key returns the same action",
        method="POST",
        path="/v1/actions",
        body={
            "tool": "calendar",
            "operation": "create_event",
            "params": {"title": "Review", "start": "2027-01-11T10:00:00Z"},
            "idempotency_key": "review-2027-01-11",
        },
        expected_status=(200,),
    ),
    Example(
        title="Get its status; wait=30 waits up to 30 seconds for a decision",
        method="GET",
        path="/v1/actions/{action_id}?wait=0",
        expected_status=(200,),
    ),
    Example(
        title="List your recent actions",
        method="GET",
        path="/v1/actions?limit=5",
        expected_status=(200,),
    ),
    Example(
        title="Propose a sub-action that names its parent",
        method="POST",
        path="/v1/actions",
        body={
            "tool": "mail",
            "operation": "send_invitation",
            "params": {"to": ["ann@example.com"]},
            "parentActionId": "{action_id}",
        },
        expected_status=(201, 202),
    ),
    Example(
        title="Propose a malformed action: the error names the field",
        method="POST",
        path="/v1/actions",
        body={"tool": "Calendar", "operation": "create_event", "params": {}},
        expected_status=(400,),
    ),
    Example(
        title="Send a request without a key",
        method="GET",
        path="/v1/actions",
        expected_status=(401,),
        with_key=False,
    ),
)
