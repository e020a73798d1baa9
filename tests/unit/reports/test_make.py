"""What a report says of a run: figures, statements, limits, and what it does not pass over in silence."""

import io
import json
import re
from datetime import date, timedelta
from fnmatch import fnmatch

import pytest

from headgate.audit.model import SYSTEM, EventType
from headgate.kernel.errors import ValidationError
from headgate.reports.basis import to_document
from headgate.reports.figures import FIGURES
from headgate.reports.frames import CutOffError, read_document, read_rows, write_document, write_end, write_rows
from headgate.reports.make import MOST_ROWS
from headgate.reports.model import (
    Progress,
    ReportFormat,
    ReportStatus,
    ReportType,
    Section,
    Stage,
    may_become,
    sections_of,
)
from headgate.reports.periods import by_period, waited_text
from headgate.reports.queries import OTHERS, Groups, Query
from headgate.reports.run import RunReader
from tests.unit.reports.run_of import GENESIS, PERSON, Told, action, agent, basis_of, made, sealed

_ROBOT = agent("Robot")


def _statements(events: list[Told], **more) -> dict[str, tuple[str, str]]:
    document = json.loads(made(sealed(events, **more), basis_of(len(events), ReportFormat.JSON)))
    return {
        one["claim"]: (one["support"], one["figure"])
        for control in document["controls"]
        for one in control["statements"]
    }


_PERMITTED = "No action was carried out without an earlier decision, approval or recorded exception that permits it."
_APPROVED: Told = ("approval.approved", PERSON, {"approval_id": "apr_1"}, "act_1")
_STARTED: Told = ("execution.started", _ROBOT, {"execution_id": "exe_1"}, "act_1")


@pytest.mark.parametrize(
    ("events", "support"),
    [
        ([*action(1, _ROBOT, "allow"), _STARTED], "supported"),
        ([*action(1, _ROBOT, "deny"), _STARTED], "not supported"),
        ([*action(1, _ROBOT, "require_approval"), _STARTED], "not supported"),
        ([*action(1, _ROBOT, "require_approval"), _APPROVED, _STARTED], "supported"),
        ([*action(1, _ROBOT, "deny"), ("break_glass.used", PERSON, {}, "act_1"), _STARTED], "supported"),
        ([*action(1, _ROBOT, "require_approval"), _APPROVED, action(1, _ROBOT, "deny")[1], _STARTED], "not supported"),
        ([*action(1, _ROBOT, "require_approval"), _APPROVED, action(1, _ROBOT, "allow")[1], _STARTED], "supported"),
        ([_STARTED], "nothing to show"),
        ([], "nothing to show"),
    ],
)  # fmt: skip
def test_whether_what_was_carried_out_had_been_permitted(events: list[Told], support: str) -> None:
    assert _statements(events)[_PERMITTED][0] == support


def _opened(pass_id: str) -> Told:
    return ("break_glass.opened", PERSON, {"pass_id": pass_id}, "act_1")


def _reviewed(pass_id: str) -> Told:
    return ("break_glass.reviewed", PERSON, {"pass_id": pass_id}, "act_1")


_REVIEWED = "Every emergency access that was opened in the range was reviewed in it by somebody else."


@pytest.mark.parametrize(
    ("claim", "events", "expected"),
    [
        ("Every action that was submitted was decided, and the decision recorded.",
         [action(1, _ROBOT, "allow")[0], *action(2, _ROBOT, "allow")], ("not supported", "1 of 2 actions")),
        ("Every action that was submitted was decided, and the decision recorded.",
         [*action(2, _ROBOT, "allow"), action(1, _ROBOT, "allow")[0]],
         ("supported", "1 of 2 actions; the range ends between the last one and its decision")),
        ("Every action that was submitted was decided, and the decision recorded.",
         [*action(1, _ROBOT, "allow"), action(1, _ROBOT, "allow")[1]], ("supported", "1 of 1 actions")),
        ("No action that policies rate high or critical was allowed without being held for a person.",
         action(1, _ROBOT, "allow", risk="critical"), ("not supported", "allowed at once: 1 of 1")),
        ("No action that policies rate high or critical was allowed without being held for a person.",
         action(1, _ROBOT, "allow"), ("nothing to show", "allowed at once: 0 of 0")),
        ("Every decision about a held action was a person's.",
         [("approval.approved", _ROBOT, {"approval_id": "a"}, "act_1")], ("not supported", "0 of 1")),
        (_REVIEWED, [_opened("brk_1"), _reviewed("brk_0")], ("not supported", "reviewed: 0 of 1")),
        (_REVIEWED, [_opened("brk_1"), _reviewed("brk_1")], ("supported", "reviewed: 1 of 1")),
        ("Keys were revoked.", [("key.revoked", PERSON, {}, None)], ("supported", "keys revoked: 1")),
    ],
)  # fmt: skip
def test_a_statement_is_as_tall_as_its_figure(claim: str, events: list[Told], expected: tuple[str, str]) -> None:
    assert _statements(events)[claim] == expected


def test_nothing_is_claimed_of_events_whose_content_was_erased() -> None:
    """An erased decision may have been the one that no statement allows; an erased key is no missing key."""
    events = [*action(1, _ROBOT, "deny", risk="high"), *action(2, _ROBOT, "allow", risk="high")]
    told = _statements(events, erased=frozenset({3, 4}))
    never = "No action that policies rate high or critical was allowed without being held for a person."
    assert _statements(events)[never] == ("not supported", "allowed at once: 1 of 2")
    assert told[never] == ("nothing to show", "allowed at once: 0 of 1; the content of 1 more was erased")
    identified = "Every action was submitted by an identified agent, with the key on record."
    assert told[identified] == ("supported", "1 of 1; the content of 1 more was erased")
    assert _statements(events, erased=frozenset({1, 3}))[identified][0] == "nothing to show"


def test_six_months_are_claimed_only_where_the_record_has_them() -> None:
    events = action(1, _ROBOT, "allow")
    claim = (
        "The record reaches back at least 183 days (six months) from the end of the range, and no content of the range"
        " was erased."
    )
    assert _statements(events)[claim] == ("nothing to show", "days: 30; erased: 0 of 2 events")
    assert _statements(events, erased=frozenset({2}))[claim][0] == "not supported"


def test_a_chain_that_nobody_signed_does_not_vouch_for_itself() -> None:
    events = action(1, _ROBOT, "allow")
    document = json.loads(made(sealed(events), basis_of(2, ReportFormat.JSON, signed=False)))
    logging = next(one for one in document["controls"] if one["clause"] == "A.8.15")
    found = {one["claim"]: one for one in logging["statements"]}
    intact = found[
        "Every event in the range is in the record, in order and unaltered since it was signed: none is missing."
    ]
    assert (intact["support"], intact["figure"]) == (
        "not supported", "events verified: 2, numbers 1 to 2, by the chain alone: no signature covers them",
    )  # fmt: skip
    signed = found["The record up to the end of the range is covered by a signed checkpoint."]
    assert signed["support"] == "not supported"


def test_a_query_is_printed_as_it_counts() -> None:
    events = [
        *action(1, _ROBOT, "allow"),
        *action(2, _ROBOT, "deny", risk="high"),
        ("policy_data.changed", PERSON, {}, None),
    ]
    document = json.loads(made(sealed(events), basis_of(len(events), ReportFormat.JSON, sections=(Section.EVENTS,))))
    assert {name: one["query"] for name, one in document["figures"].items()} == {
        name: query.text for name, query in FIGURES.items()
    }
    assert FIGURES["denied"].text == 'count where event_type = decision.made and data.decision = "deny"'
    assert Query(("policy.*",), summed="data.n").text == "sum(data.n) where event_type in (policy.*)"
    # The reader's way to the same figure: the rows.
    denied = [one for one in document["rows"] if one["event_type"] == "decision.made" and one["decision"] == "deny"]
    assert document["figures"]["denied"]["value"] == len(denied) == 1
    assert document["figures"]["policy_changes"]["value"] == 1


def _recounted(query: str, rows: list[dict]) -> int:
    """What a reader counts who has the printed query and the events, and none of our code."""
    what, _, conditions = query.partition(" where ")
    matching = rows
    for condition in conditions.split(" and ") if conditions else []:
        if found := re.fullmatch(r"(\S+) is given", condition):
            matching = [row for row in matching if _value(row, found[1]) not in (None, "", [], {})]
            continue
        path, _, wanted = re.sub(r" (=|in) ", "\0", condition, count=1).partition("\0")
        values = [one.strip().strip('"') for one in wanted.strip("()").split(",")]
        matching = [row for row in matching if any(fnmatch(str(_value(row, path)), one) for one in values)]
    if found := re.fullmatch(r"sum\((\S+)\)", what):
        return sum(_value(row, found[1]) or 0 for row in matching)
    return len(matching)


def _value(row: dict, path: str):
    if path.startswith("data."):
        return row.get("data", {}).get(path.removeprefix("data."))
    return row.get({"actor.type": "actor_type", "actor.id": "actor"}.get(path, path))


def test_whoever_has_the_events_counts_the_same() -> None:
    events = [
        *action(1, _ROBOT, "allow"), _STARTED, *action(2, _ROBOT, "deny", risk="high"),
        *action(3, _ROBOT, "require_approval", risk="critical"),
        ("approval.requested", _ROBOT, {"approval_id": "a"}, "act_3"), _APPROVED,
        ("approval.denied", PERSON, {"approval_id": "b"}, "act_3"),
        ("approval.expired", SYSTEM, {"approval_id": "c"}, "act_3"), ("approval.escalated", SYSTEM, {}, "act_3"),
        ("execution.completed", _ROBOT, {}, "act_1"), ("execution.failed", _ROBOT, {}, "act_1"),
        ("response.withheld", SYSTEM, {}, "act_1"), ("policy.created", PERSON, {"policy_id": "pol_1"}, None),
        ("policy_data.changed", PERSON, {}, None), ("nlp_policy.updated", SYSTEM, {}, None),
        ("policy.quarantined", SYSTEM, {}, None), ("setting.changed", PERSON, {}, None),
        ("request.refused", _ROBOT, {"code": "DESTINATION_BLOCKED", "count": 3}, None),
        ("request.refused", _ROBOT, {"code": "RATE_LIMITED", "count": 4}, None),
        ("agent.created", PERSON, {}, None), ("agent.suspended", PERSON, {}, None),
        ("key.created", PERSON, {"expires_at": "2027-01-01T00:00:00Z"}, None),
        ("key.rotated", PERSON, {"expires_at": None}, None), ("key.revoked", PERSON, {}, None),
        ("user.created", PERSON, {}, None), ("user.deactivated", PERSON, {}, None), ("stop.placed", PERSON, {}, None),
        ("stop.lifted", PERSON, {}, None), ("grant.created", PERSON, {}, None), ("grant.revoked", PERSON, {}, None),
        ("break_glass.opened", PERSON, {}, "act_1"), ("break_glass.reviewed", PERSON, {}, "act_1"),
        ("proof_pack.exported", PERSON, {}, None), ("report.downloaded", PERSON, {}, None),
        ("decision.made", SYSTEM, {"decision": "allow", "nlp": [{}], "exempted_by": "grt_1", "reason": ""}, "act_1"),
    ]  # fmt: skip
    document = json.loads(made(sealed(events), basis_of(len(events), ReportFormat.JSON, sections=(Section.EVENTS,))))
    figures = {name: (one["query"], one["value"]) for name, one in document["figures"].items()}
    recounted = {name: (query, _recounted(query, document["rows"])) for name, (query, _) in figures.items()}
    recounted["events"] = (figures["events"][0], len(document["rows"]))
    assert recounted == figures
    assert {name for name, (_, value) in figures.items() if not value} <= {"approvals_by_agents", "high_risk_allowed"}


@pytest.mark.parametrize("event_type", sorted({one.value for one in EventType}))
def test_whatever_somebody_administers_is_listed(event_type: str) -> None:
    subject = event_type.partition(".")[0]
    is_of_a_call = subject in ("action", "decision", "execution", "approval", "request", "response")
    sections = (Section.EXCEPTIONS, Section.POLICY_CHANGES, Section.ACCESS)
    document = json.loads(
        made(sealed([(event_type, PERSON, {}, None)]), basis_of(1, ReportFormat.JSON, sections=sections))
    )
    assert len(document["rows"]) == (0 if is_of_a_call else 1)


def test_pages_take_so_many_rows_and_say_so_and_files_take_all() -> None:
    many = MOST_ROWS[ReportFormat.HTML] + 5
    events = [told for number in range(many) for told in action(number, _ROBOT, "deny")]
    rows = sealed(events)
    page = made(
        rows, basis_of(len(events), ReportFormat.HTML, ReportType.ACTIVITY, sections=(Section.DENIALS,))
    ).decode()
    assert f"The first 2,000 of {many:,}: a report for reading lists no more." in page
    assert page.count("<tr>") == 2_001
    table = made(rows, basis_of(len(events), ReportFormat.CSV, ReportType.ACTIVITY, sections=(Section.DENIALS,)))
    assert table.count(b'\r\n"denials"') == many


@pytest.mark.parametrize("broken", ["payload", "order", "missing", "link"])
def test_what_was_changed_between_verifying_and_reading_is_seen(broken: str) -> None:
    rows = sealed([*action(1, _ROBOT, "deny"), *action(2, _ROBOT, "deny")])
    match broken:
        case "payload":
            rows[1] = rows[1]._replace(payload=(rows[1].payload or b"").replace(b"deny", b"allow"))
        case "order":
            rows[1], rows[2] = rows[2], rows[1]
        case "missing":
            del rows[3]
        case "link":
            rows[1] = rows[1]._replace(header=rows[1].header.replace(b"evt_2", b"evt_9"))
    page = made(rows, basis_of(4, ReportFormat.HTML)).decode()
    assert "The record is not what was sealed and signed" in page
    assert "Verified against a signed checkpoint" not in page


def test_erased_events_keep_their_place_and_lose_their_figures() -> None:
    events = action(1, _ROBOT, "deny")
    reader = RunReader(GENESIS, 1)
    read = list(reader.read(sealed(events, erased=frozenset({2}))))
    assert (reader.fault, [one.is_erased for one in read], read[1].data) == (None, [False, True], {})


@pytest.mark.parametrize("forged_first", [False, True])
def test_a_second_row_of_one_link_is_no_event(forged_first: bool) -> None:
    rows = sealed([*action(1, _ROBOT, "deny"), *action(2, _ROBOT, "deny")])
    forged = rows[1]._replace(payload=(rows[1].payload or b"").replace(b"deny", b"allow"))
    reader = RunReader(GENESIS, 1)
    read = list(reader.read([*rows[:1], *([forged, rows[1]] if forged_first else [rows[1], forged]), *rows[2:]]))
    assert [one.seq for one in read] == [1, 2, 3, 4]
    assert [one.text("decision") for one in read if one.event_type == "decision.made"] == ["deny", "deny"]
    assert reader.fault in ("event 2 is there twice", "the payload of event 2 is not the one that was sealed")


@pytest.mark.parametrize("payload", [b"no JSON", b'{"data":{}}', b'{"actor":{},"data":[]}'])
def test_a_row_that_nobody_can_read_is_no_event(payload: bytes) -> None:
    rows = sealed(action(1, _ROBOT, "deny"))
    reader = RunReader(GENESIS, 1)
    assert [one.seq for one in reader.read([rows[0]._replace(payload=payload), rows[1]])] == [2]
    assert reader.fault is not None


def test_a_stream_that_is_cut_off_anywhere_is_no_report() -> None:
    basis = basis_of(2, ReportFormat.JSON)
    whole = write_document(to_document(basis)) + write_rows(sealed(action(1, _ROBOT, "allow"))) + write_end()
    for length in range(0, len(whole), 7):
        stream = io.BytesIO(whole[:length])
        with pytest.raises(CutOffError):
            read_document(stream)
            list(read_rows(stream))
    stream = io.BytesIO(whole)
    read_document(stream)
    assert len(list(read_rows(stream))) == 2


def test_groups_are_bounded() -> None:
    groups = Groups()
    for number in range(10_050):
        groups.add(f"agent {number}", "allow")
    assert len(groups.counts) == 10_001
    assert groups.counts[OTHERS] == {"allow": 50}


@pytest.mark.parametrize(("days", "points"), [(1, 1), (45, 45), (46, 7), (400, 58), (800, 27)])
def test_periods_are_days_then_weeks_then_months(days: int, points: int) -> None:
    first = date(2026, 1, 1)
    told = {(first + timedelta(one)).isoformat(): {"allow": 1} for one in (0, days - 1)}
    periods = by_period(told)
    assert len(periods) == points
    assert sum(kinds.get("allow", 0) for _, kinds in periods) == len(told)


def test_waits_are_told_in_their_unit() -> None:
    assert [waited_text(one) for one in (5, 61, 3700, 90_000)] == ["5 s", "1 min", "1 h 1 min", "1 d 1 h"]


def test_progress_rises_through_the_stages() -> None:
    told = [Progress(Stage.WAITING), Progress(Stage.VERIFYING, 5, 10), Progress(Stage.READING, 5, 10),
            Progress(Stage.RENDERING), Progress(Stage.DONE)]  # fmt: skip
    assert [one.percent for one in told] == [0, 20, 65, 90, 100]


def test_states_move_one_way() -> None:
    assert may_become(ReportStatus.QUEUED) == []
    assert may_become(ReportStatus.RUNNING) == ["queued", "running"]
    assert may_become(ReportStatus.READY) == ["running"]
    assert may_become(ReportStatus.FAILED) == ["queued", "running"]


def test_parts_are_named_or_refused() -> None:
    assert sections_of(ReportType.ACCESS, ["denials", "actions"]) == (Section.ACTIONS, Section.DENIALS)
    assert Section.CONTROLS in sections_of(ReportType.COMPLIANCE, None)
    with pytest.raises(ValidationError, match="include"):
        sections_of(ReportType.ACCESS, ["everything"])


def test_a_report_names_its_checkpoint_in_every_form() -> None:
    events = action(1, SYSTEM, "allow")
    for form in (ReportFormat.HTML, ReportFormat.CSV, ReportFormat.JSON):
        for count in (len(events), 0):
            content = made(sealed(events[:count]), basis_of(count, form)).decode()
            assert "AAAA" in content
            assert basis_of(count, form).reference in content
