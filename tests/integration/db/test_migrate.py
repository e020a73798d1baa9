"""A database that other migrations made is refused, and the message says which of the two it is: of a later version, or
of one whose migrations were others."""

from dataclasses import replace

import pytest

from headgate.db.migrate import MigrationError, all_migrations, migrate

OURS = all_migrations()
CHANGED = [replace(OURS[0], sql=OURS[0].sql + "-- another\n"), *OURS[1:]]


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (OURS[:-1], "of a later version of Headgate"),
        (CHANGED, f"migration {OURS[0].name} was changed after it had been applied"),
        # Migrations were put together: some are gone, and the others say more. No later version has what is missing.
        (CHANGED[:-1], f"migration {OURS[0].name} was changed after it had been applied"),
    ],
)
async def test_a_database_of_another_version_is_refused(database_url, wanted, message) -> None:
    with pytest.raises(MigrationError, match=message):
        await migrate(database_url, wanted)


async def test_what_was_applied_is_not_applied_again(database_url) -> None:
    assert await migrate(database_url) == []
