"""A policy named on the command line: by its id, or by the name that people gave it."""

from collections.abc import Iterator
from typing import Final

from headgate.cli.api_client import ApiClient
from headgate.cli.tables import safe
from headgate.client import operations
from headgate.kernel.errors import NotFoundError, ValidationError
from headgate.kernel.ids import IdPrefix

_PAGE: Final = 200


def policy_id_of(client: ApiClient, policy: str) -> str:
    """An id is passed on as it is: only the API knows whether it is one. Names are not unique, and what would be done
    to one of several is refused.

    Raises NotFoundError: none is called so. Raises ValidationError: several are; it lists their ids.
    """
    if policy.startswith(f"{IdPrefix.POLICY}_"):
        return policy
    called_so = list(_called(client, policy))
    if not called_so:
        raise NotFoundError(
            f"there is no policy {safe(policy)}: headgate policy list shows all; a deleted one is named by its id"
        )
    if len(called_so) > 1:
        ids = "\n".join(f"  {safe(one)}" for one in called_so)
        raise ValidationError(f"{len(called_so)} policies are called {safe(policy)}; name one by its id:\n{ids}")
    return called_so[0]


def _called(client: ApiClient, name: str) -> Iterator[str]:
    """The API finds parts of names, too, whatever their case."""
    offset = 0
    while True:
        page = client.send(operations.list_policies, name=name, limit=_PAGE, offset=offset)["data"]
        yield from (str(one["id"]) for one in page if one["name"] == name)
        offset += len(page)
        if len(page) < _PAGE:
            return
