"""Reports as one of the things that are kept: deleted by policy, after a year where nobody says otherwise.

A report is a copy of what the record says, so none goes while anything at all is under a legal hold: which actions one
tells of is in its file. Erasing actions leaves reports alone (decision 0023): who erases deletes those that show them.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from headgate.db.database import Connection
from headgate.kernel.canonical_json import JsonValue
from headgate.retention.retained_kind import Dropped, RetainedKind

_BATCH: Final = 100


async def drop_reports(connection: Connection, org_id: str, before: datetime) -> Dropped:
    """Those that ended before that moment, ready or failed, with their files."""
    cursor = await connection.execute(
        "DELETE FROM reports r USING (SELECT x.report_id FROM reports x WHERE x.org_id = %(org)s"
        "  AND x.finished_at < %(before)s AND x.status IN ('ready', 'failed') AND NOT EXISTS"
        "  (SELECT FROM legal_holds h WHERE h.org_id = %(org)s AND h.lifted_at IS NULL)"
        "  ORDER BY x.report_id LIMIT %(most)s FOR UPDATE) old"
        " WHERE r.org_id = %(org)s AND r.report_id = old.report_id RETURNING r.report_id",
        {"org": org_id, "before": before, "most": _BATCH},
    )
    ids: list[JsonValue] = sorted([row["report_id"] async for row in cursor])
    return Dropped(len(ids), {"report_ids": ids}, more=len(ids) >= _BATCH)


async def erase_nothing(connection: Connection, org_id: str, action_ids: Sequence[str]) -> int:
    """No report belongs to an action."""
    return 0


REPORTS: Final = RetainedKind("reports", drop_reports, erase_nothing)
