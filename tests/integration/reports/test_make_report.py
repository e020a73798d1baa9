"""A report as the worker makes it, from a real record with a real signature."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from hashlib import sha256

import pytest

from headgate.audit.model import Event, EventType
from headgate.kernel.clock import system_clock
from headgate.kernel.errors import ConflictError, NotFoundError, ValidationError
from headgate.queue.model import JobReference
from headgate.reports.make_report import MakeReport
from headgate.reports.model import ReportFormat, ReportStatus, ReportType
from headgate.reports.render_process import RenderError
from headgate.reports.store import get_report
from tests.integration.reports.conftest import PERSON, SCENE, action
from tests.unit.reports.tiny_font import write_font


async def test_every_kind_in_every_form_rests_on_its_checkpoint(record, checkpointer, made, organization) -> None:
    await record(SCENE)
    await checkpointer.checkpoint(organization.org_id)
    begins = {
        ReportFormat.PDF: b"%PDF-1.7",
        ReportFormat.HTML: b"<!DOCTYPE html>",
        ReportFormat.CSV: b'"section","seq"',
        ReportFormat.JSON: b'{"format":"headgate-report/v1"',
    }
    for report_type in ReportType:
        for form, start in begins.items():
            report, content = await made(report_type, form)
            assert (report.status, report.failure) == (ReportStatus.READY, None)
            assert content.lstrip().startswith(start)
            assert report.result is not None
            assert (report.result.first_seq, report.result.sha256) == (1, sha256(content).digest())
            assert report.result.checkpoint_size is not None
            await checkpointer.checkpoint(organization.org_id)  # of what asking for it has recorded


async def test_the_figures_are_those_of_the_record(record, checkpointer, made, organization) -> None:
    await record(SCENE)
    await checkpointer.checkpoint(organization.org_id)
    _, content = await made()
    document = json.loads(content)
    figures = {name: one["value"] for name, one in document["figures"].items()}
    expected = {
        "events": len(SCENE), "submitted": 3, "decided": 3, "allowed": 1, "held": 1, "denied": 1, "high_risk": 2,
        "approvals_approved": 1, "approvals_decided_by_people": 1, "keys_created": 1, "keys_expiring": 0,
        "policy_changes": 1,
    }  # fmt: skip
    assert {name: figures[name] for name in expected} == expected
    assert document["executions_begun"]["permitted"]["value"] == 2
    assert document["verification"] == {
        "valid": True, "signed": True, "message": "Verified against a signed checkpoint", "fault": None,
    }  # fmt: skip
    statements = {one["claim"]: one for control in document["controls"] for one in control["statements"]}
    assert statements["Every key that somebody issued has an expiry."]["support"] == "not supported"
    assert statements["Every decision about a held action was a person's."]["support"] == "supported"
    assert statements["People were deactivated."]["support"] == "nothing to show"


async def test_the_same_range_and_checkpoint_are_the_same_bytes(record, checkpointer, made, organization) -> None:
    await record(SCENE)
    await checkpointer.checkpoint(organization.org_id)
    end = datetime.now(UTC)
    first = [(await made(form=form, end=end))[1] for form in ReportFormat]
    await record(action("Robot", "allow"))
    await checkpointer.checkpoint(organization.org_id)
    await asyncio.sleep(1.1)  # a clock that is read into a file shows
    again = [(await made(form=form, end=end))[1] for form in ReportFormat]
    assert first == again


async def test_a_checkpoint_that_is_named_bounds_the_run(record, checkpointer, made, organization) -> None:
    await record(SCENE)
    await checkpointer.checkpoint(organization.org_id)
    await record(action("Robot", "allow"))
    await checkpointer.checkpoint(organization.org_id)
    report, _ = await made(most_events=len(SCENE))
    assert report.result is not None
    assert (report.result.last_seq, report.result.checkpoint_size) == (len(SCENE), len(SCENE))


async def test_without_a_checkpoint_it_says_so(record, made) -> None:
    await record(SCENE)
    report, content = await made(form=ReportFormat.HTML)
    assert report.result is not None
    assert report.result.checkpoint_size is None
    assert b"No signed checkpoint covers this range" in content
    assert b"no checkpoint has been signed yet" in content


async def test_without_the_key_no_signature_is_believed(
    record, checkpointer, made, organization, worker_database
) -> None:
    await record(SCENE)
    await checkpointer.checkpoint(organization.org_id)
    keyless = MakeReport(worker_database, lambda: datetime.now(UTC), None)
    report, content = await made(by=keyless)
    assert report.result is not None
    assert report.result.checkpoint_size is None
    assert "could not be checked" in json.loads(content)["controls"][-2]["statements"][1]["figure"]


async def test_a_range_in_which_nothing_happened(record, checkpointer, made, organization) -> None:
    await record(SCENE)
    await checkpointer.checkpoint(organization.org_id)
    early = datetime(2020, 1, 1, tzinfo=UTC)
    for form in ReportFormat:
        report, content = await made(form=form, start=early, end=early + timedelta(days=1))
        assert report.status is ReportStatus.READY
        assert report.result is not None
        assert (report.result.first_seq, report.result.last_seq) == (None, None)
    document = json.loads(content)  # json is the last form
    assert document["figures"]["events"]["value"] == 0
    assert document["verification"]["message"] == "Nothing was recorded in this range"
    supported = [
        one["claim"]
        for control in document["controls"]
        for one in control["statements"]
        if one["support"] == "supported"
    ]
    assert supported == []


async def test_reversed_ranges_are_refused(ask) -> None:
    now = datetime.now(UTC)
    with pytest.raises(ValidationError, match="end_date is before start_date"):
        await ask(start=now, end=now - timedelta(seconds=1))


async def test_a_changed_record_is_named_and_not_vouched_for(
    record, checkpointer, made, organization, superuser
) -> None:
    await record(SCENE)
    await checkpointer.checkpoint(organization.org_id)
    superuser.execute(
        "UPDATE audit_events SET payload = replace(payload, '\"deny\"', '\"allow\"') WHERE org_id = %s",
        [organization.org_id],
    )
    _, content = await made(form=ReportFormat.HTML)
    assert b"The record is not what was sealed and signed" in content
    assert b"payload" in content
    assert b"Verified against a signed checkpoint" not in content


async def test_erased_content_is_counted_and_left_out(record, checkpointer, made, organization, superuser) -> None:
    decided = {event.action_id for event in SCENE if event.event_type is EventType.DECISION_MADE}
    erased = [
        Event(
            EventType.BODY_ERASED, datetime.now(UTC), PERSON, {"depth": "everything", "reason": "asked"}, action_id=one
        )
        for one in decided
    ]
    await record((*SCENE, *erased))
    await checkpointer.checkpoint(organization.org_id)
    superuser.execute(
        "UPDATE audit_events SET payload = NULL, salt = NULL WHERE org_id = %s AND event_type = 'decision.made'",
        [organization.org_id],
    )
    for form in ReportFormat:
        _, content = await made(form=form)
        if form is ReportFormat.HTML:
            assert f"The content of 3 of {len(SCENE) + 3} events was erased".encode() in content
    document = json.loads(content)
    assert document["run"]["erased"] == 3
    assert document["verification"]["valid"] is True
    assert (document["figures"]["decided"]["value"], document["figures"]["denied"]["value"]) == (3, 0)


async def test_a_child_that_is_killed_or_late_fails_the_attempt_and_then_the_report(
    record, ask, worker_database, api_database, signing_keys
) -> None:
    await record(SCENE)
    late = MakeReport(worker_database, lambda: datetime.now(UTC), signing_keys, wait_seconds=0.0, render_seconds=0.0)
    small = MakeReport(worker_database, lambda: datetime.now(UTC), signing_keys, wait_seconds=0.0, most_bytes=1000)
    for maker, reason in ((late, "not rendered within"), (small, "the report is larger than")):
        asked = await ask(form=ReportFormat.PDF)
        with pytest.raises(RenderError, match=reason):
            await maker.run(JobReference(asked.org_id, asked.report_id, 1))
        await maker.run(JobReference(asked.org_id, asked.report_id, 2))
        async with api_database.transaction(asked.org_id) as connection:
            report = await get_report(connection, asked.org_id, asked.report_id)
        assert (report.status, report.attempt) == (ReportStatus.FAILED, 2)
        assert report.failure is not None
        assert reason in report.failure
        assert report.result is None


async def test_a_pdf_takes_the_fonts_of_the_installation_and_fails_where_one_has_gone(
    record, made, ask, worker_database, api_database, tmp_path
) -> None:
    await record(action("東京", "deny"))
    font = write_font(tmp_path / "font.ttf", "Squares", "東京")
    maker = MakeReport(worker_database, system_clock, None, fonts=(font,))
    _, content = await made(form=ReportFormat.PDF, by=maker)
    assert b"Squares" in content
    font.unlink()
    asked = await ask(form=ReportFormat.PDF)
    with pytest.raises(RenderError, match="cannot be used: no such file"):
        await maker.run(JobReference(asked.org_id, asked.report_id, 1))
    await maker.run(JobReference(asked.org_id, asked.report_id, 2))
    async with api_database.transaction(asked.org_id) as connection:
        report = await get_report(connection, asked.org_id, asked.report_id)
    assert report.failure is not None
    assert f"the font {font} cannot be used: no such file" in report.failure
    _, content = await made(form=ReportFormat.HTML, by=maker)
    assert "東京".encode() in content, "other forms need none"


async def test_what_the_queue_gives_up_has_failed(record, ask, maker, api_database) -> None:
    asked = await ask()
    await maker.abandon(JobReference(asked.org_id, asked.report_id, 10), "UnavailableError: the database is away")
    async with api_database.transaction(asked.org_id) as connection:
        report = await get_report(connection, asked.org_id, asked.report_id)
    assert (report.status, report.failure) == (ReportStatus.FAILED, "the database is away")
    await maker.run(JobReference(asked.org_id, asked.report_id, 1))  # a job that comes late changes nothing
    async with api_database.transaction(asked.org_id) as connection:
        assert await get_report(connection, asked.org_id, asked.report_id) == report


async def test_of_two_attempts_one_keeps_its_file(record, ask, maker, api_database) -> None:
    await record(SCENE)
    asked = await ask()
    reference = JobReference(asked.org_id, asked.report_id, 1)
    await asyncio.gather(maker.run(reference), maker.run(reference))
    async with api_database.transaction(asked.org_id) as connection:
        report = await get_report(connection, asked.org_id, asked.report_id)
        cursor = await connection.execute(
            "SELECT count(*) AS pieces FROM report_pieces WHERE report_id = %s", [asked.report_id]
        )
        row = await cursor.fetchone()
    assert report.status is ReportStatus.READY
    assert row is not None
    assert row["pieces"] == 1


async def test_one_that_is_deleted_meanwhile_is_left(record, ask, maker, api_database) -> None:
    asked = await ask()
    async with api_database.transaction(asked.org_id) as connection:
        await connection.execute("DELETE FROM reports WHERE report_id = %s", [asked.report_id])
    await maker.run(JobReference(asked.org_id, asked.report_id, 1))
    with pytest.raises(NotFoundError):
        async with api_database.transaction(asked.org_id) as connection:
            await get_report(connection, asked.org_id, asked.report_id)


async def test_many_that_wait_are_refused(ask) -> None:
    for _ in range(20):
        await ask()
    with pytest.raises(ConflictError, match="20 reports are being produced"):
        await ask()
