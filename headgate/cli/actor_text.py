"""Who did something, in one form everywhere: ``Ana <ana@example.com>``, ``agent Courier``, ``key key_01a2…``."""

from collections.abc import Mapping
from typing import Any, Final

from headgate.cli.api_client import ApiClient
from headgate.cli.tables import safe
from headgate.client import operations
from headgate.kernel.errors import HeadgateError
from headgate.kernel.ids import IdPrefix

_PAGE: Final = 200


def actor_text(actor: Mapping[str, Any] | None) -> str:
    """Of an actor of the record: ``type``, ``id`` and ``name``, which is a person's address. JSON has the id."""
    if actor is None:
        return "(erased)"
    name = str(actor.get("name") or actor["id"])
    if name.startswith(f"{IdPrefix.KEY}_"):
        # A program acts with a person's key, or with one that no person made.
        return safe(f"key {name}")
    return safe(f"agent {name}" if actor["type"] == "agent" else name)


class People:
    """Names of an organization's people, for those who may read them: others see addresses, or ids without one."""

    def __init__(self, client: ApiClient) -> None:
        self._client = client
        self._names: dict[str, tuple[str | None, str | None]] | None = None

    def text(self, user_id: str, email: str | None = None) -> str:
        """``email``: as it was kept with what they did."""
        if user_id.startswith(f"{IdPrefix.KEY}_"):
            return safe(f"key {user_id}")
        if not user_id.startswith(f"{IdPrefix.USER}_"):
            return safe(email or user_id)
        name, known_email = self._known().get(user_id, (None, None))
        address = email or known_email
        # A name that looks like an address would show somebody else's beside its own.
        if name and address and name != address and not {"<", ">", "@"} & set(name):
            return safe(f"{name} <{address}>")
        return safe(address or name or user_id)

    def _known(self) -> Mapping[str, tuple[str | None, str | None]]:
        if self._names is None:
            self._names = {}
            try:
                self._read(self._names)
            except HeadgateError:
                self._names = {}  # the answer is shown all the same
        return self._names

    def _read(self, names: dict[str, tuple[str | None, str | None]]) -> None:
        offset = 0
        while True:
            page = self._client.send(operations.list_users, limit=_PAGE, offset=offset)["data"]
            names |= {one["id"]: (one["name"], one["email"]) for one in page}
            offset += len(page)
            if len(page) < _PAGE:
                return
