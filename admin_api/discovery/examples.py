"""Worked examples: data, so that what agents read and what the tests execute are the same."""

from typing import Final

from admin_api.discovery.model import Example

EXAMPLES: Final = (
    Example(
        title="Propose an action before you carry it out",
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
        title="Propose it again: the same key is the same action, never a second one",
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
        title="Ask what became of it; wait=30 answers as soon as a person has decided, 30 seconds at most",
        method="GET",
        path="/v1/actions/{action_id}?wait=0",
        expected_status=(200,),
    ),
    Example(
        title="List what you did lately",
        method="GET",
        path="/v1/actions?limit=5",
        expected_status=(200,),
    ),
    Example(
        title="A sub-action of it names its parent",
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
        title="A malformed action is refused and says which field it is",
        method="POST",
        path="/v1/actions",
        body={"tool": "Calendar", "operation": "create_event", "params": {}},
        expected_status=(400,),
    ),
    Example(
        title="Without a key you are nobody",
        method="GET",
        path="/v1/actions",
        expected_status=(401,),
        with_key=False,
    ),
)
