"""The body of POST /v1/actions, field by field of the specification."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.actions.delegation import Delegate
from headgate.actions.request import draft_of, parse_submission
from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.kernel.errors import ValidationError
from headgate.protocols.draft import Source
from headgate.tools.match import CatalogueIndex

_ID = "act_01932c07-209c-7000-8000-000000000000"
_PLAIN: JsonObject = {"tool": "t", "operation": "o", "params": {"a": 1}}


def _parse(**changes: JsonValue) -> bytes:
    return json.dumps({**_PLAIN, **changes}).encode()


def test_everything() -> None:
    submission = parse_submission(
        _parse(
            context={"goal": "g"},
            idempotency_key="k" * 128,
            parentActionId=_ID.removeprefix("act_"),
            delegationContext={"orchestratorId": "x", "workflowId": "w", "stepName": "s"},
        )
    )
    assert (submission.tool, submission.operation, submission.params) == ("t", "o", {"a": 1})
    assert (submission.context, submission.idempotency_key) == ({"goal": "g"}, "k" * 128)
    assert submission.parent_action_id == _ID
    parent = Delegate(_ID, None, "agt_1", "Planner", "plan", "make", "completed", 1)
    draft = draft_of(submission, CatalogueIndex([]), [parent])
    assert (draft.source, draft.call, draft.effect) == (Source.API, None, None)
    assert draft.context == b'{"goal":"g"}'
    assert json.loads(draft.delegation) == {
        "orchestratorId": "x",
        "workflowId": "w",
        "stepName": "s",
        "parentActionId": _ID,
        "depth": 1,
        "chain": [
            {
                "action_id": _ID,
                "tool": "plan",
                "operation": "make",
                "status": "completed",
                "agent": {"id": "agt_1", "name": "Planner"},
            }
        ],
    }


def test_only_what_is_required() -> None:
    submission = parse_submission(_parse(params={}))
    assert submission.context is submission.idempotency_key is submission.delegation_context is None
    assert draft_of(submission, CatalogueIndex([]), []).context == b"{}"


def test_the_request_digest_is_of_the_canonical_body() -> None:
    spaced = json.dumps(_PLAIN, indent=3, sort_keys=True).encode()
    assert parse_submission(spaced).request_digest == parse_submission(_parse()).request_digest
    assert parse_submission(_parse(params={})).request_digest != parse_submission(_parse()).request_digest


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"tool": ""}, "tool"),
        ({"tool": "T"}, "tool"),
        ({"tool": "1t"}, "tool"),
        ({"tool": "t" * 65}, "tool"),
        ({"tool": "t\n"}, "tool"),
        ({"tool": None}, "tool"),
        ({"operation": "a-b"}, "operation"),
        ({"operation": 1}, "operation"),
        ({"params": []}, "params"),
        ({"params": None}, "params"),
        ({"context": "x"}, "context"),
        ({"context": None}, "context"),
        ({"idempotency_key": ""}, "idempotency_key"),
        ({"idempotency_key": "k" * 129}, "idempotency_key"),
        ({"idempotency_key": 1}, "idempotency_key"),
        ({"idempotency_key": "a\0b"}, "idempotency_key"),
        ({"parentActionId": "x"}, "parentActionId"),
        ({"parentActionId": 1}, "parentActionId"),
        ({"parentActionId": _ID.replace("act_", "apr_")}, "parentActionId"),
        ({"delegationContext": []}, "delegationContext"),
        ({"delegationContext": {"stepName": 1}}, "delegationContext.stepName"),
        ({"delegationContext": {"step": "x"}}, "delegationContext.step"),
        ({"parent_action_id": _ID}, "parent_action_id"),
        ({"tols": "x"}, "tols"),
    ],
)
def test_refused_with_field_and_reason(changes: JsonObject, field: str) -> None:
    with pytest.raises(ValidationError) as caught:
        parse_submission(_parse(**changes))
    assert caught.value.details is not None
    assert caught.value.details["field"] == field
    assert caught.value.details["reason"]


@pytest.mark.parametrize("field", ["tool", "operation", "params"])
def test_required_fields(field: str) -> None:
    body = {name: value for name, value in _PLAIN.items() if name != field}
    with pytest.raises(ValidationError) as caught:
        parse_submission(json.dumps(body).encode())
    assert caught.value.details == {"field": field, "reason": "is required"}


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"null", b"{", b'{"tool":"t","tool":"u","operation":"o","params":{}}', b'{"params":{"a":NaN}}'],
)
def test_bodies_that_are_not_one_object(body: bytes) -> None:
    with pytest.raises(ValidationError):
        parse_submission(body)


def test_nul_in_a_value_is_kept() -> None:
    assert parse_submission(_parse(params={"a": "x\0y"})).params == {"a": "x\0y"}


@given(st.binary(max_size=80) | st.recursive(st.none() | st.text(), lambda x: st.dictionaries(st.text(), x)).map(
    lambda value: json.dumps(value).encode()
))  # fmt: skip
def test_arbitrary_bytes_raise_nothing_else(body: bytes) -> None:
    with pytest.raises(ValidationError):
        parse_submission(body)
