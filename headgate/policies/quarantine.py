"""Quarantines a policy that was running when a process died: it denies until a person has reviewed it.

semantics.md, "Combining and voting".
"""

import fcntl
import os
from pathlib import Path
from time import time
from typing import Final

import structlog

from headgate.audit.model import EventType
from headgate.audit.written_events import WrittenEvent, note_events
from headgate.db.database import Database
from headgate.policies.marker import PAGE_BYTES, Suspect, read_mark

_log = structlog.get_logger(__name__)

_SUSPICION_SECONDS: Final = 600


async def quarantine_suspects(database: Database, folder: Path) -> list[Suspect]:
    """Runs when a deciding process starts: quarantines the policies that dead processes were evaluating.

    Returns the blamed policies. A marker is removed only after its policy is quarantined, so a start without the
    database finds it again. Raises UnavailableError.
    """
    blamed: list[Suspect] = []
    for path in sorted(folder.glob("evaluating-*")):  # noqa: ASYNC240 - a handful of small local files, at start
        try:
            file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            continue  # Another starting process has handled it, or its own process has ended.
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not os.fstat(file).st_nlink:
                continue  # The same marker, a moment later: one death must not count twice.
            suspect = read_mark(os.pread(file, PAGE_BYTES, 0))
            if suspect is not None and _is_blamed(folder, suspect):
                await _quarantine(database, suspect)
                blamed.append(suspect)
            path.unlink(missing_ok=True)
        except BlockingIOError:
            continue  # Its process is alive.
        finally:
            os.close(file)
    return blamed


def _is_blamed(folder: Path, suspect: Suspect) -> bool:
    """Certain, or suspected shortly before without another policy in between."""
    memory = folder / "suspected-policy"
    name = f"{suspect.org_id}\n{suspect.policy_id}\n{suspect.version}"
    try:
        is_fresh = time() - memory.stat().st_mtime < _SUSPICION_SECONDS
        before = memory.read_text("utf-8") if is_fresh else ""
    except FileNotFoundError:
        before = ""
    if suspect.is_certain or before == name:
        memory.unlink(missing_ok=True)
        return True
    memory.write_text(name, "utf-8")
    _log.warning("policy_suspected", policy_id=suspect.policy_id, version=suspect.version, org_id=suspect.org_id)
    return False


async def _quarantine(database: Database, suspect: Suspect) -> None:
    async with database.across_organizations() as connection:
        cursor = await connection.execute(
            "SELECT at, told FROM quarantine_policy(%s, %s, %s, %s)",
            [suspect.org_id, suspect.policy_id, suspect.version, suspect.reason],
        )
        written = [
            WrittenEvent(EventType.POLICY_QUARANTINED.value, None, None, row["at"], row["told"])
            for row in await cursor.fetchall()
        ]
        note_events(connection, suspect.org_id, written)
    _log.error(
        "policy_quarantined",
        policy_id=suspect.policy_id,
        version=suspect.version,
        org_id=suspect.org_id,
        reason=suspect.reason,
    )
