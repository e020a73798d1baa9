"""What entries of a journal come to: an execution ends once, and each row is written in its last state."""

from datetime import UTC, datetime, timedelta

from headgate.actions.recorded_entry import (
    ActionEntry,
    ActionRow,
    OutcomeEntry,
    OutcomeRow,
    action_entry,
    outcome_entry,
    read_entry,
)
from headgate.db.arrays import NULL, element
from headgate.journal.round import EventEntry, Round, outcomes_of_earlier_rounds, plan_round

_NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
_EVENT = EventEntry(element("policy.created"), NULL, NULL, element("1"), element("{}"))


def _action(name: str, *, execution: str | None = None, status: str = "executing") -> ActionEntry:
    row = ActionRow(
        "org_1", 1, name, "agt_1", None, "proxy", "mail", "send", status, bytes(32), b"{}", b"{}", "low", None, _NOW,
        execution, None if execution is None else "ins_1", None, None, f"submitted {name}", f"decided {name}",
        None if execution is None else f"started {name}",
    )  # fmt: skip
    entry = read_entry(action_entry(row))
    assert isinstance(entry, ActionEntry)
    return entry


def _outcome(execution: str, *, succeeded: bool = True, withheld: str | None = None) -> OutcomeEntry:
    at = _NOW + timedelta(seconds=1)
    row = OutcomeRow(
        "org_1", execution, "act_1", "agt_1", succeeded, at, None if succeeded else "reset", b'{"status":200}',
        f"ended {execution}", None, withheld,
    )  # fmt: skip
    entry = read_entry(outcome_entry(row))
    assert isinstance(entry, OutcomeEntry)
    return entry


def _told(planned: Round) -> list[tuple[bytes, bytes]]:
    return [(one.event_type[4:], one.payload[4:]) for one in planned.events]


def _statuses(planned: Round) -> tuple[list[bytes], list[bytes]]:
    return [one.status[4:] for one in planned.actions], [one.status[4:] for one in planned.executions]


def test_an_action_and_its_outcome_become_rows_in_their_last_state() -> None:
    outcome = _outcome("exe_1", succeeded=False, withheld="withheld exe_1")
    planned = plan_round([_action("act_1", execution="exe_1"), outcome], set())
    assert _statuses(planned) == ([b"failed"], [b"failed"])
    (action,), (execution,) = planned.actions, planned.executions
    assert action.updated_at == execution.completed_at == outcome.completed_at != action.created_at
    assert (execution.error, execution.result) == (outcome.error, outcome.result)
    assert _told(planned) == [
        (b"action.submitted", b"submitted act_1"), (b"decision.made", b"decided act_1"),
        (b"execution.started", b"started act_1"), (b"response.withheld", b"withheld exe_1"),
        (b"execution.failed", b"ended exe_1"),
    ]  # fmt: skip


def test_an_action_whose_outcome_is_not_there_yet_runs() -> None:
    planned = plan_round([_action("act_1", execution="exe_1"), _action("act_2", status="denied")], set())
    assert _statuses(planned) == ([b"executing", b"denied"], [b"running"])
    assert planned.executions[0].completed_at == NULL


def test_events_keep_the_order_of_the_journal() -> None:
    planned = plan_round([_EVENT, _action("act_1", status="denied"), _EVENT], set())
    assert [kind for kind, _ in _told(planned)] == [
        b"policy.created", b"action.submitted", b"decision.made", b"policy.created",
    ]  # fmt: skip


def test_only_the_first_outcome_counts() -> None:
    entries = [_action("act_1", execution="exe_1"), _outcome("exe_1"), _outcome("exe_1", succeeded=False)]
    assert outcomes_of_earlier_rounds(entries) == []
    planned = plan_round(entries, set())
    assert _statuses(planned) == ([b"completed"], [b"succeeded"])
    assert [kind for kind, _ in _told(planned)].count(b"execution.completed") == 1
    assert b"execution.failed" not in dict(_told(planned))


def test_of_an_earlier_round_the_first_outcome_counts_if_the_database_took_it() -> None:
    entries = [_outcome("exe_1"), _outcome("exe_1", succeeded=False), _outcome("exe_2")]
    earlier = outcomes_of_earlier_rounds(entries)
    assert earlier == [entries[0], entries[2]]
    planned = plan_round(entries, {entries[0].execution_id})
    assert _told(planned) == [(b"execution.completed", b"ended exe_1")]
    assert (planned.actions, planned.executions) == ([], [])


def test_an_outcome_before_its_action_is_left_out() -> None:
    """The record was sent and given up, and committed after the outcome that says so: its worker closes it."""
    entries = [_outcome("exe_1"), _action("act_1", execution="exe_1")]
    assert outcomes_of_earlier_rounds(entries) == [entries[0]]
    planned = plan_round(entries, set())
    assert _statuses(planned) == ([b"executing"], [b"running"])


def test_a_decision_that_names_canary_tokens_is_an_event_more() -> None:
    named = (
        '{"actor":{"id":"headgate","type":"system"},"data":{"canaries":[{"canary_id":"can_1","name":"wiki"}],"n":1}}'
    )
    quoted = '{"actor":{},"data":{"reason":"\\"data\\":{\\"canaries\\":[{"}}'
    entries = [
        _action(name, status="denied")._replace(decided=element(text)) for name, text in (("a", named), ("b", quoted))
    ]
    told = _told(plan_round(entries, set()))
    assert [kind for kind, _ in told] == [
        b"action.submitted", b"decision.made", b"canary.found", b"action.submitted", b"decision.made",
    ]  # fmt: skip
    assert b'"data":{"canaries":[{"canary_id":"can_1","name":"wiki"}]}' in told[2][1]
