"""What an instance must know again after a restart and keep to itself: passwords and the seeded agent's key.

One JSON file, 0600, in the data directory. Each part gets its own password and no other by its environment.
Whoever can read this file, or be this user, can be every part: roles keep a mistaken or subverted *statement*
apart from what its part has no business with, not one process of this user from another.
"""

import json
import os
import secrets
from typing import Final

from msgspec import Struct

from headgate.configuration.data_directory import DataDirectory
from headgate.kernel.errors import UnavailableError
from headgate.kernel.secrets import Secret
from headgate.runtime.private_file import write_private

ROLES: Final = ("postgres", "headgate_owner", "headgate_api", "headgate_proxy", "headgate_worker", "headgate_auditor")
"""Who logs in to the embedded database; ``postgres`` is its superuser."""


class InstanceSecrets(Struct, frozen=True):
    """``passwords`` by role; the agent is None until it has been seeded."""

    passwords: dict[str, Secret]
    agent_id: str | None = None
    agent_key: Secret | None = None


def load_secrets(data: DataDirectory) -> InstanceSecrets:
    """The instance's secrets; made if there are none. Raises UnavailableError."""
    file = data.secrets_file
    try:
        if file.exists():
            return _parse(file.read_text("utf-8"))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UnavailableError(f"{file} cannot be read: restore it from a backup ({type(error).__name__})") from error
    if data.postgres.exists():
        raise UnavailableError(f"{file} is missing, and the database cannot be opened without it: restore it")
    made = InstanceSecrets({role: Secret(secrets.token_urlsafe(32)) for role in ROLES})
    store_secrets(data, made)
    return made


def store_secrets(data: DataDirectory, kept: InstanceSecrets) -> None:
    """Raises UnavailableError."""
    document = {
        "passwords": {role: password.reveal() for role, password in kept.passwords.items()},
        "agent": None
        if kept.agent_id is None or kept.agent_key is None
        else {"id": kept.agent_id, "key": kept.agent_key.reveal()},
    }
    write_private(data.secrets_file, json.dumps(document, indent=1).encode() + os.linesep.encode())


def _parse(text: str) -> InstanceSecrets:
    document = json.loads(text)
    agent = document["agent"]
    return InstanceSecrets(
        {role: Secret(document["passwords"][role]) for role in ROLES},
        None if agent is None else agent["id"],
        None if agent is None else Secret(agent["key"]),
    )
