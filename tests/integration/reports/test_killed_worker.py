"""A worker that is killed while it makes a report: it is made again once, and there is one."""

import asyncio
import sys
from pathlib import Path

import pytest

from headgate.db.database import Database
from headgate.reports.model import ReportStatus
from headgate.reports.store import get_report
from tests.integration.reports.conftest import SCENE


async def _worker(dsn: str, folder: Path, kills: int) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.integration.reports.killed_worker", dsn, str(folder), str(kills),
        stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip


@pytest.mark.parametrize(("kills", "status"), [(1, ReportStatus.READY), (2, ReportStatus.FAILED)])
async def test_made_again_once(
    cluster, record, ask, api_database: Database, tmp_path: Path, kills: int, status: ReportStatus
) -> None:
    await record(SCENE)
    asked = await ask()
    folder = tmp_path / "deaths"
    folder.mkdir()
    dsn = cluster.dsn("headgate_worker")
    for _ in range(kills):
        doomed = await _worker(dsn, folder, kills)
        async with asyncio.timeout(100):
            await doomed.wait()
    last = await _worker(dsn, folder, kills)
    try:
        async with asyncio.timeout(100):
            while True:
                async with api_database.transaction(asked.org_id) as connection:
                    report = await get_report(connection, asked.org_id, asked.report_id)
                if report.status.is_final:
                    break
                await asyncio.sleep(0.2)
    finally:
        last.terminate()
        await last.wait()
    assert (report.status, report.attempt) == (status, 2)
    async with api_database.transaction(asked.org_id) as connection:
        cursor = await connection.execute(
            "SELECT (SELECT count(*) FROM reports) AS reports, (SELECT count(*) FROM report_pieces) AS pieces"
        )
        row = await cursor.fetchone()
    assert row is not None
    assert (row["reports"], row["pieces"]) == (1, 1 if status is ReportStatus.READY else 0)
