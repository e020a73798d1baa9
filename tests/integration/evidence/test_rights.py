"""Who may do what with checkpoints: only the worker adds, nobody changes or removes, organizations do not meet."""

import psycopg
import pytest

from headgate.db.database import Database
from headgate.evidence.checkpointer import Checkpointer
from headgate.evidence.prove import prove_inclusion
from headgate.evidence.tree_store import latest_checkpoint, load_tree
from headgate.kernel.errors import UnavailableError


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE audit_checkpoints SET note = note",
        "DELETE FROM audit_checkpoints",
        "TRUNCATE audit_checkpoints",
        "UPDATE audit_attestations SET document = document",
        "DELETE FROM audit_attestations",
        "DELETE FROM audit_trees",
        "DELETE FROM audit_tiles",
        "DELETE FROM audit_exports",
    ],
)
@pytest.mark.parametrize("role", ["headgate_api", "headgate_worker", "headgate_proxy", "headgate_auditor"])
def test_no_part_takes_back_what_was_signed(cluster, role: str, statement: str) -> None:
    with (
        psycopg.connect(cluster.dsn(role), autocommit=True) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute(statement.encode())


@pytest.mark.parametrize("role", ["headgate_api", "headgate_proxy", "headgate_auditor"])
def test_only_the_worker_adds_checkpoints(cluster, organization, role: str) -> None:
    with psycopg.connect(cluster.dsn(role)) as connection:
        connection.execute("SELECT set_config('app.org_id', %s, true)", [organization.org_id])
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(
                "INSERT INTO audit_checkpoints (org_id, size, note) VALUES (%s, 1, 'x')", [organization.org_id]
            )


async def test_another_organization_sees_neither_tree_nor_checkpoint(
    api_database: Database, checkpointer: Checkpointer, record, organization, new_organization
) -> None:
    await record(3)
    assert await checkpointer.checkpoint(organization.org_id)
    async with api_database.transaction(new_organization().org_id) as connection:
        assert await latest_checkpoint(connection, organization.org_id) is None
        assert (await load_tree(connection, organization.org_id)).frontier.size == 0
        with pytest.raises(UnavailableError, match="has holes"):
            await prove_inclusion(connection, organization.org_id, [0], 3)
