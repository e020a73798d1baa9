"""The runtime file: what scripts and client commands need to know of a running instance.

Its members are a promise (semantics.md, "What scripts rely on"). JSON, mode 0600, replaced atomically; it is there
exactly while the instance is ready.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from headgate.kernel.errors import UnavailableError
from headgate.kernel.secrets import Secret
from headgate.runtime.agent_access import AgentAccess
from headgate.runtime.private_file import write_private


class RuntimeInformation(Struct, frozen=True):
    """``ca_cert``: the path of the PEM file that agents trust. ``pids``: processes by part, empty for a server that
    is not ours. ``database_url`` sees every organization's rows where the database is the embedded one."""

    api_url: str
    proxy_url: str
    ca_cert: str
    agent_id: str
    agent_key: Secret
    admin_token: Secret
    dashboard_url: str
    database_url: Secret
    redis_url: Secret
    pids: Mapping[str, Sequence[int]]

    @property
    def access(self) -> AgentAccess:
        """What of this an agent may know."""
        return AgentAccess(self.api_url, self.proxy_url, self.ca_cert, self.agent_id, self.agent_key)

    def to_json(self) -> bytes:
        document = {
            "api_url": self.api_url,
            "proxy_url": self.proxy_url,
            "ca_cert": self.ca_cert,
            "agent_id": self.agent_id,
            "agent_key": self.agent_key.reveal(),
            "admin_token": self.admin_token.reveal(),
            "dashboard_url": self.dashboard_url,
            "database_url": self.database_url.reveal(),
            "redis_url": self.redis_url.reveal(),
            "pids": {name: list(pids) for name, pids in self.pids.items()},
        }
        return json.dumps(document, indent=1).encode() + b"\n"


def write_runtime_file(path: Path, information: RuntimeInformation) -> None:
    """Raises UnavailableError."""
    write_private(path, information.to_json())


def read_runtime_file(path: Path) -> RuntimeInformation:
    """Raises UnavailableError: not there, not readable by this user, or something else."""
    try:
        document = json.loads(path.read_text("utf-8"))
        return RuntimeInformation(
            api_url=_text(document, "api_url"),
            proxy_url=_text(document, "proxy_url"),
            ca_cert=_text(document, "ca_cert"),
            agent_id=_text(document, "agent_id"),
            agent_key=Secret(_text(document, "agent_key")),
            admin_token=Secret(_text(document, "admin_token")),
            dashboard_url=_text(document, "dashboard_url"),
            database_url=Secret(_text(document, "database_url")),
            redis_url=Secret(_text(document, "redis_url")),
            pids={name: tuple(pids) for name, pids in document["pids"].items()},
        )
    except FileNotFoundError as error:
        raise UnavailableError(f"there is no runtime file {path}: is the instance running? (headgate up)") from error
    except PermissionError as error:
        raise UnavailableError(f"{path} belongs to another user: run as the user who started headgate up") from error
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UnavailableError(f"{path} is not a runtime file of headgate up: {error!r}") from error


def _text(document: dict[str, object], name: str) -> str:
    value = document[name]
    if not isinstance(value, str):
        raise TypeError(f"{name} is not text")
    return value
