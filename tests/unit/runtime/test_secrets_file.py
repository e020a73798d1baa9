"""The instance's own secrets: made once, kept, and never silently made anew."""

import stat
from pathlib import Path

import pytest
from msgspec.structs import replace

from headgate.configuration.data_directory import DataDirectory
from headgate.kernel.errors import UnavailableError
from headgate.kernel.secrets import Secret
from headgate.runtime.secrets_file import ROLES, load_secrets, store_secrets


@pytest.fixture
def data(tmp_path: Path) -> DataDirectory:
    return DataDirectory(tmp_path)


def test_every_role_has_a_password_of_its_own(data: DataDirectory) -> None:
    made = load_secrets(data)
    assert len({password.reveal() for password in made.passwords.values()}) == len(ROLES)
    assert stat.S_IMODE(data.secrets_file.stat().st_mode) == 0o600


def test_they_are_the_same_the_next_time(data: DataDirectory) -> None:
    kept = replace(load_secrets(data), agent_id="agt_1", agent_key=Secret("hg_1"))
    store_secrets(data, kept)
    assert load_secrets(data) == kept


def test_without_them_a_database_cannot_be_opened(data: DataDirectory) -> None:
    data.postgres.mkdir()
    with pytest.raises(UnavailableError, match="is missing"):
        load_secrets(data)


@pytest.mark.parametrize("text", ["", "{}", '{"passwords": {}, "agent": null}', '{"passwords": [], "agent": null}'])
def test_a_damaged_file_is_not_replaced(data: DataDirectory, text: str) -> None:
    data.secrets_file.write_text(text)
    with pytest.raises(UnavailableError, match="restore it"):
        load_secrets(data)
    assert data.secrets_file.read_text() == text
