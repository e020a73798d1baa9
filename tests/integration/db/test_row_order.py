"""Rows are sent by position: each field stands where the SQL function has the parameter of its name and type."""

from typing import Any

import psycopg
import pytest

from headgate.actions.recording_store import ACTION_COLUMNS, OUTCOME_COLUMNS, EndedCall, RecordedCall
from headgate.approvals.gate_store import HOLD_COLUMNS, USE_COLUMNS, HoldRow, HoldTerms, UseRow
from headgate.db.arrays import Column

type Parameters = tuple[list[str], list[int]]


@pytest.fixture
def parameters(superuser: psycopg.Connection[tuple[Any, ...]], request: pytest.FixtureRequest) -> Parameters:
    """Names, without their ``p_``, and type identifiers."""
    [(names, types)] = superuser.execute(
        "SELECT proargnames, proargtypes::oid[]::bigint[] FROM pg_proc"
        " WHERE proname = %s AND pronamespace = 'public'::regnamespace",
        [request.param],
    ).fetchall()
    return [name.removeprefix("p_") for name in names], list(types)


@pytest.mark.parametrize(
    ("parameters", "row", "more"),
    [
        ("record_actions", RecordedCall, []),
        ("record_outcomes", EndedCall, []),
        ("hold_action", HoldRow, HoldTerms._fields),
        ("use_approval", UseRow, []),
        ("hold_actions", HoldRow, HoldTerms._fields),
        ("use_approvals", UseRow, []),
    ],
    indirect=["parameters"],
)
def test_fields_stand_in_the_order_of_the_parameters(parameters: Parameters, row: Any, more: list[str]) -> None:
    names, _ = parameters
    # A parameter's name is how its field's begins: p_parent, parent_action_id.
    for name, field in zip(names, [*row._fields, *more], strict=True):
        assert field.startswith(name)


@pytest.mark.parametrize(
    ("parameters", "columns"),
    [
        ("record_actions", ACTION_COLUMNS),
        ("record_outcomes", OUTCOME_COLUMNS),
        ("hold_actions", HOLD_COLUMNS),
        ("use_approvals", USE_COLUMNS),
    ],
    indirect=["parameters"],
)
def test_each_field_becomes_an_array_of_its_type(parameters: Parameters, columns: tuple[Column, ...]) -> None:
    _, types = parameters
    assert [column.array_type for column in columns] == types
