"""The tags of actions in the database. The applier writes them (``journal.found_tags``)."""

from collections.abc import Sequence

from headgate.db.database import Connection


async def note_tags(connection: Connection, org_id: str, tags: Sequence[tuple[str, str]]) -> None:
    """Labels actions: pairs of action and tag. A pair that is there already stays."""
    if not tags:
        return
    await connection.execute(
        "SELECT note_tags(%s, %s, %s)", [org_id, [action for action, _ in tags], [tag for _, tag in tags]]
    )
