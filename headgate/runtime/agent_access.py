"""What the machine of an agent keeps of the gate: where it is, whom to trust, and the agent's key.

No administrator's token and no database, unlike the runtime file (``headgate.runtime.runtime_file``): whoever runs
agents can read it. ``headgate join`` writes it.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

from headgate.kernel.errors import UnavailableError
from headgate.kernel.secrets import Secret
from headgate.runtime.instance_pointer import state_folder
from headgate.runtime.private_file import write_private

_FILE: Final = "agent.json"
CERTIFICATES: Final = "ca.pem"


class AgentAccess(Struct, frozen=True):
    """``ca_cert``: the path of the PEM file that agents trust."""

    api_url: str
    proxy_url: str
    ca_cert: str
    agent_id: str
    agent_key: Secret


def joined_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """What ``headgate join`` keeps: the access, the certificates, and what is made of them for clients."""
    return state_folder(environment) / "joined"


def write_access(folder: Path, access: AgentAccess) -> None:
    """Raises UnavailableError."""
    document = {
        "api_url": access.api_url,
        "proxy_url": access.proxy_url,
        "ca_cert": access.ca_cert,
        "agent_id": access.agent_id,
        "agent_key": access.agent_key.reveal(),
    }
    write_private(folder / _FILE, json.dumps(document, indent=1).encode() + b"\n")


def read_access(folder: Path) -> AgentAccess | None:
    """None: this user has not joined. Raises UnavailableError."""
    file = folder / _FILE
    try:
        document = json.loads(file.read_text("utf-8"))
        texts = {name: document[name] for name in ("api_url", "proxy_url", "ca_cert", "agent_id", "agent_key")}
        if not all(isinstance(text, str) for text in texts.values()):
            raise TypeError("a member is not text")
        return AgentAccess(**{**texts, "agent_key": Secret(texts["agent_key"])})
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UnavailableError(f"{file} cannot be read ({error!r}): run headgate join again") from error
