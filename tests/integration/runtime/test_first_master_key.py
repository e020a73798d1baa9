"""The start of an instance creates a master key only where nothing needs one that was lost."""

from pathlib import Path

from headgate.db.database import Database
from headgate.journal.apply import apply_due
from headgate.kernel.clock import system_clock
from headgate.kernel.secrets import Secret
from headgate.runtime.seed import seed_organization
from headgate.vault.service import Vault
from tests.integration.conftest import Cluster, Execute, Organization


async def test_a_lost_file_is_not_replaced_while_another_organization_has_secrets(
    cluster: Cluster, api_database: Database, organization: Organization, tmp_path: Path
) -> None:
    vault = Vault(tmp_path / "master-keys.json")
    async with api_database.transaction(organization.org_id) as connection:
        await vault.keep(connection, organization.org_id, "webhook", Secret("x"))
    vault.keys_file.unlink()
    await seed_organization(Secret(cluster.dsn("headgate_owner")), system_clock, vault)
    assert not vault.keys_file.exists()


async def test_a_second_machine_without_the_file_creates_no_other_key(
    cluster: Cluster, worker_database: Database, organization: Organization, execute: Execute, tmp_path: Path
) -> None:
    """Under another key, the applier of the first would set aside all that the second records."""
    await execute(organization, "ins_1")
    while await apply_due(worker_database):
        pass
    vault = Vault(tmp_path / "master-keys.json")
    await seed_organization(Secret(cluster.dsn("headgate_owner")), system_clock, vault)
    assert not vault.keys_file.exists()
