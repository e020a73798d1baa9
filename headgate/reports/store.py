"""Reports in the database: asked for, claimed, kept, listed, deleted."""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import BinaryIO, Final

from msgspec import Struct
from psycopg import sql
from psycopg.rows import DictRow

from headgate.db.bounded_count import count_rows
from headgate.db.database import Connection, Database
from headgate.kernel.errors import ConflictError, NotFoundError
from headgate.reports.model import (
    Progress,
    Report,
    ReportFormat,
    ReportRequest,
    ReportStatus,
    ReportType,
    Result,
    Section,
    Stage,
    may_become,
)

PIECE_BYTES: Final = 1 << 19

_INSERT: Final = """
    INSERT INTO reports (org_id, report_id, report_type, format, sections, start_at, end_at, most_events, status, stage,
                         created_by, created_at)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s, 'queued', 'waiting', %s, %s)
"""
_CLAIM: Final = """
    UPDATE reports
    SET status = 'running', stage = 'waiting', done = 0, total = 0, attempt = attempt + 1, started_at = %s
    WHERE org_id = %s AND report_id = %s AND status = ANY (%s) AND attempt < %s RETURNING *
"""
_KEEP: Final = """
    UPDATE reports SET status = 'ready', stage = 'done', finished_at = %s, first_seq = %s, last_seq = %s,
           checkpoint_size = %s, checkpoint_root = %s, size_bytes = %s, sha256 = %s
    WHERE org_id = %s AND report_id = %s AND status = ANY (%s) AND attempt = %s
"""


class ReportPage(Struct, frozen=True):
    reports: Sequence[Report]
    total: int
    total_is_minimum: bool


async def insert_report(
    connection: Connection, org_id: str, report_id: str, request: ReportRequest, *, created_by: str, at: datetime
) -> None:
    await connection.execute(
        _INSERT,
        [
            org_id, report_id, request.report_type.value, request.format.value,
            [one.value for one in request.sections], request.start, request.end, request.most_events, created_by, at,
        ],
    )  # fmt: skip


async def get_report(connection: Connection, org_id: str, report_id: str) -> Report:
    """Raises NotFoundError."""
    cursor = await connection.execute("SELECT * FROM reports WHERE org_id = %s AND report_id = %s", [org_id, report_id])
    row = await cursor.fetchone()
    if row is None:
        raise NotFoundError(f"there is no report {report_id}")
    return _report(row)


async def list_reports(
    connection: Connection,
    org_id: str,
    *,
    report_type: ReportType | None,
    status: ReportStatus | None,
    limit: int,
    offset: int,
    exact_total: bool,
) -> ReportPage:
    """The newest first."""
    parts, values = ["org_id = %(org)s"], {"org": org_id}
    for column, wanted in (("report_type", report_type), ("status", status)):
        if wanted is not None:
            parts.append(f"{column} = %({column})s")
            values[column] = wanted.value
    source = sql.SQL("reports WHERE {}").format(sql.SQL(" AND ").join([sql.SQL(part) for part in parts]))
    total, is_minimum = await count_rows(connection, source, values, exact=exact_total, prepare=False)
    page = sql.SQL("SELECT * FROM {} ORDER BY report_id DESC LIMIT %(limit)s OFFSET %(offset)s").format(source)
    cursor = await connection.execute(page, {**values, "limit": limit, "offset": offset}, prepare=False)
    return ReportPage([_report(row) for row in await cursor.fetchall()], total, is_minimum)


async def newest_states(connection: Connection, org_id: str) -> object:
    """Changes with each step of the newest reports, and when one is requested or deleted."""
    cursor = await connection.execute(
        "SELECT report_id, status, stage, done, total FROM reports WHERE org_id = %s ORDER BY report_id DESC LIMIT 50",
        [org_id],
    )
    return await cursor.fetchall()


async def kept(connection: Connection, org_id: str) -> tuple[int, int]:
    """How many are unfinished, and how many bytes the finished ones take."""
    cursor = await connection.execute(
        "SELECT count(*) FILTER (WHERE status IN ('queued', 'running')) AS unfinished,"
        " coalesce(sum(size_bytes), 0)::bigint AS bytes FROM reports WHERE org_id = %s",
        [org_id],
    )
    row = await cursor.fetchone()
    return (0, 0) if row is None else (int(row["unfinished"]), int(row["bytes"]))


async def delete_report(connection: Connection, org_id: str, report_id: str) -> None:
    """With its file. Raises NotFoundError."""
    cursor = await connection.execute("DELETE FROM reports WHERE org_id = %s AND report_id = %s", [org_id, report_id])
    if cursor.rowcount == 0:
        raise NotFoundError(f"there is no report {report_id}")


async def claim_report(
    connection: Connection, org_id: str, report_id: str, at: datetime, most_attempts: int
) -> Report | None:
    """For one attempt; None: it was deleted, has ended, or was tried as often as it may be."""
    cursor = await connection.execute(_CLAIM, [at, org_id, report_id, may_become(ReportStatus.RUNNING), most_attempts])
    row = await cursor.fetchone()
    return None if row is None else _report(row)


async def save_progress(connection: Connection, report: Report, progress: Progress) -> bool:
    """False: it is no longer this attempt's, or was deleted; go no further."""
    cursor = await connection.execute(
        "UPDATE reports SET stage = %s, done = %s, total = %s"
        " WHERE org_id = %s AND report_id = %s AND status = 'running' AND attempt = %s",
        [progress.stage.value, progress.done, progress.total, report.org_id, report.report_id, report.attempt],
    )
    return cursor.rowcount == 1


async def fail_report(connection: Connection, org_id: str, report_id: str, at: datetime, failure: str) -> bool:
    cursor = await connection.execute(
        "UPDATE reports SET status = 'failed', finished_at = %s, failure = %s"
        " WHERE org_id = %s AND report_id = %s AND status = ANY (%s)",
        [at, failure, org_id, report_id, may_become(ReportStatus.FAILED)],
    )
    return cursor.rowcount == 1


async def keep_file(connection: Connection, report: Report, result: Result, file: BinaryIO, at: datetime) -> None:
    """The file and that it is ready, in the caller's transaction. Raises ConflictError where another attempt has taken
    over, or the report was deleted: then nothing is kept."""
    cursor = await connection.execute(
        _KEEP,
        [
            at, result.first_seq, result.last_seq, result.checkpoint_size, result.checkpoint_root, result.size_bytes,
            result.sha256, report.org_id, report.report_id, may_become(ReportStatus.READY), report.attempt,
        ],
    )  # fmt: skip
    if cursor.rowcount != 1:
        raise ConflictError("Another attempt is producing this report, or it was deleted.")
    await connection.execute(
        "DELETE FROM report_pieces WHERE org_id = %s AND report_id = %s", [report.org_id, report.report_id]
    )
    number = 0
    while content := file.read(PIECE_BYTES):
        await connection.execute(
            "INSERT INTO report_pieces (org_id, report_id, piece, content) VALUES (%s, %s, %s, %s)",
            [report.org_id, report.report_id, number, content],
        )
        number += 1


async def pieces_of(database: Database, org_id: str, report_id: str) -> AsyncIterator[bytes]:
    """The file, piece by piece, each read by itself: a slow reader holds no connection.

    Raises NotFoundError where it is deleted meanwhile.
    """
    async with database.transaction(org_id) as connection:
        report = await get_report(connection, org_id, report_id)
    size = 0 if report.result is None else report.result.size_bytes
    sent = number = 0
    while sent < size:
        async with database.transaction(org_id) as connection:
            cursor = await connection.execute(
                "SELECT content FROM report_pieces WHERE org_id = %s AND report_id = %s AND piece = %s",
                [org_id, report_id, number],
            )
            row = await cursor.fetchone()
        if row is None:
            raise NotFoundError(f"the report {report_id} was deleted meanwhile")
        yield bytes(row["content"])
        sent += len(row["content"])
        number += 1


def _report(row: DictRow) -> Report:
    request = ReportRequest(
        report_type=ReportType(row["report_type"]),
        format=ReportFormat(row["format"]),
        sections=tuple(Section(one) for one in row["sections"]),
        start=row["start_at"],
        end=row["end_at"],
        most_events=row["most_events"],
    )
    result = None
    if row["sha256"] is not None:
        root = row["checkpoint_root"]
        result = Result(
            row["first_seq"], row["last_seq"], row["checkpoint_size"], None if root is None else bytes(root),
            row["size_bytes"], bytes(row["sha256"]),
        )  # fmt: skip
    return Report(
        org_id=row["org_id"],
        report_id=row["report_id"],
        request=request,
        status=ReportStatus(row["status"]),
        progress=Progress(Stage(row["stage"]), row["done"], row["total"]),
        attempt=row["attempt"],
        failure=row["failure"],
        created_by=row["created_by"],
        created_at=row["created_at"],
        started_at=row["started_at"],
        finished_at=row["finished_at"],
        result=result,
    )
