"""An agent on the command line: named by the name that people gave it, by its id, or by a part of the id; and shown."""

from collections.abc import Iterable
from typing import Final

from headgate.cli.api_client import ApiClient, ApiError
from headgate.cli.short_id import is_short, is_whole, matching, the_one
from headgate.cli.tables import safe
from headgate.client import operations
from headgate.kernel.errors import NotFoundError, ValidationError
from headgate.kernel.ids import IdPrefix

_PAGE: Final = 200
_PAGES: Final = 5


def agent_id_of(client: ApiClient, agent: str) -> str:
    """A whole id is passed on as it is. Names are not unique, and what would be done
    to one of several is refused; who was deactivated steps back for those that live.

    Raises NotFoundError: nobody is called so. Raises ValidationError: several are; it lists their ids.
    """
    if is_whole(IdPrefix.AGENT, agent) or _is_strange(agent):
        return agent
    called_so = ids_of_name(client, agent)
    if not called_so and is_short(IdPrefix.AGENT, agent):
        return the_one(agent, _with_part(client, agent), what="agent", listed_by="agents list")
    if not called_so:
        raise NotFoundError(f"no agent {safe(agent)}. headgate agents list shows all agents")
    if len(called_so) > 1:
        ids = "\n".join(f"  {safe(one)}" for one in called_so)
        raise ValidationError(f"{len(called_so)} agents have the name {safe(agent)}. Use an id:\n{ids}")
    return str(called_so[0])


def ids_of_name(client: ApiClient, name: str) -> list[str]:
    """The agents of this name; those that are deactivated only if no other agent has it."""
    found: dict[bool, list[str]] = {True: [], False: []}
    cursor: str | None = None
    while True:
        page = client.send(operations.list_agents, q=name, limit=_PAGE, cursor=cursor)
        for one in page["data"]:
            if one["name"] == name:
                found[one["status"] != "deactivated"].append(one["id"])
        cursor = page["pagination"]["next_cursor"]
        if cursor is None:
            return found[True] or found[False]


def _is_strange(agent: str) -> bool:
    """Only the API knows what it makes of it."""
    return agent.startswith(f"{IdPrefix.AGENT}_") and not is_short(IdPrefix.AGENT, agent)


def _with_part(client: ApiClient, part: str) -> list[tuple[str, str]]:
    names: dict[str, str] = {}
    cursor: str | None = None
    while True:
        page = client.send(operations.list_agents, limit=_PAGE, cursor=cursor)
        names |= {one["id"]: one["name"] for one in page["data"]}
        cursor = page["pagination"]["next_cursor"]
        if cursor is None:
            return [(one, names[one]) for one in matching(IdPrefix.AGENT, part, names)]


def agent_id_if_named(client: ApiClient, agent: str | None) -> str | None:
    """For an option that may be left out."""
    return None if agent is None else agent_id_of(client, agent)


def agent_names_of(client: ApiClient, ids: Iterable[str | None]) -> dict[str, str]:
    """Their names by id, for a table. Where the API does not list agents, or too many of them, ids are shown."""
    wanted = {one for one in ids if one is not None}
    names: dict[str, str] = {}
    cursor: str | None = None
    for _ in range(_PAGES):
        if wanted <= names.keys():
            break
        try:
            page = client.send(operations.list_agents, limit=_PAGE, cursor=cursor)
        except ApiError:
            break
        names |= {one["id"]: one["name"] for one in page["data"]}
        cursor = page["pagination"]["next_cursor"]
        if cursor is None:
            break
    return names
