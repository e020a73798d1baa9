"""A policy named on the command line: by the name that people gave it, by its id, or by a part of the id."""

from collections.abc import Iterator
from typing import Final

from headgate.cli.api_client import ApiClient
from headgate.cli.short_id import is_short, is_whole, matching, the_one
from headgate.cli.tables import safe
from headgate.client import operations
from headgate.kernel.errors import NotFoundError, ValidationError
from headgate.kernel.ids import IdPrefix

_PAGE: Final = 200


def policy_id_of(client: ApiClient, policy: str) -> str:
    """A whole id is passed on as it is. Names are not unique, and what would be done
    to one of several is refused.

    Raises NotFoundError: none is called so. Raises ValidationError: several are; it lists their ids.
    """
    if is_whole(IdPrefix.POLICY, policy) or _is_strange(policy):
        return policy
    called_so = list(_called(client, policy))
    if not called_so and is_short(IdPrefix.POLICY, policy):
        return the_one(policy, list(_with_part(client, policy)), what="policy", listed_by="policy list")
    if not called_so:
        raise NotFoundError(
            f"no policy {safe(policy)}. headgate policy list shows all policies. Use the id for a deleted policy"
        )
    if len(called_so) > 1:
        ids = "\n".join(f"  {safe(one)}" for one in called_so)
        raise ValidationError(f"{len(called_so)} policies have the name {safe(policy)}. Use an id:\n{ids}")
    return called_so[0]


def _is_strange(policy: str) -> bool:
    """Only the API knows what it makes of it."""
    return policy.startswith(f"{IdPrefix.POLICY}_") and not is_short(IdPrefix.POLICY, policy)


def _with_part(client: ApiClient, part: str) -> Iterator[tuple[str, str]]:
    offset = 0
    while True:
        page = client.send(operations.list_policies, limit=_PAGE, offset=offset)["data"]
        names = {one["id"]: one["name"] for one in page}
        yield from ((one, names[one]) for one in matching(IdPrefix.POLICY, part, names))
        offset += len(page)
        if len(page) < _PAGE:
            return


def _called(client: ApiClient, name: str) -> Iterator[str]:
    """The API finds parts of names, too, whatever their case."""
    offset = 0
    while True:
        page = client.send(operations.list_policies, name=name, limit=_PAGE, offset=offset)["data"]
        yield from (str(one["id"]) for one in page if one["name"] == name)
        offset += len(page)
        if len(page) < _PAGE:
            return
