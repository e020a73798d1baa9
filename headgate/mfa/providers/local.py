"""People whose tokens Headgate issues itself: their factors are rows here, and there are no sessions but tokens."""

from headgate.db.database import Connection, Database
from headgate.mfa.factor_store import delete_factors, find_factors
from headgate.mfa.model import Person
from headgate.vault.service import Vault


def secret_name(user_id: str, *, pending: bool = False) -> str:
    """Under which the vault keeps a factor's secret."""
    return f"totp/{user_id}/pending" if pending else f"totp/{user_id}"


async def forget_factors(connection: Connection, vault: Vault, org_id: str, user_id: str) -> int:
    """Rows and secrets; needs no master key."""
    for pending in (False, True):
        await vault.forget(connection, org_id, secret_name(user_id, pending=pending))
    return await delete_factors(connection, org_id, user_id)


class LocalFactors:
    """As ``model.FactorProvider`` says."""

    def __init__(self, database: Database, vault: Vault) -> None:
        self._database = database
        self._vault = vault

    async def count_totp(self, person: Person) -> int:
        async with self._database.transaction(person.org_id) as connection:
            factors = await find_factors(connection, person.org_id, person.user_id)
        return sum(one.is_active for one in factors)

    async def remove_totp(self, person: Person) -> int:
        async with self._database.transaction(person.org_id) as connection:
            return await forget_factors(connection, self._vault, person.org_id, person.user_id)

    async def close_other_sessions(self, person: Person) -> None:
        """Nothing more: Headgate refuses the tokens themselves (``headgate.mfa.closed_sessions``)."""
