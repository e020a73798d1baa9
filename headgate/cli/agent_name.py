"""An agent named on the command line: by its id, or by the name that people gave it."""

from typing import Final

from headgate.cli.api_client import ApiClient
from headgate.cli.tables import safe
from headgate.client import operations
from headgate.kernel.errors import NotFoundError, ValidationError
from headgate.kernel.ids import IdPrefix

_PAGE: Final = 200


def agent_id_of(client: ApiClient, agent: str) -> str:
    """An id is passed on as it is: only the API knows whether it is one. Names are not unique, and what would be done
    to one of several is refused; who was deactivated steps back for those that live.

    Raises NotFoundError: nobody is called so. Raises ValidationError: several are; it lists their ids.
    """
    if agent.startswith(f"{IdPrefix.AGENT}_"):
        return agent
    found: dict[bool, list[str]] = {True: [], False: []}
    cursor: str | None = None
    while True:
        page = client.send(operations.list_agents, q=agent, limit=_PAGE, cursor=cursor)
        for one in page["data"]:
            if one["name"] == agent:
                found[one["status"] != "deactivated"].append(one["id"])
        cursor = page["pagination"]["next_cursor"]
        if cursor is None:
            break
    called_so = found[True] or found[False]
    if not called_so:
        raise NotFoundError(f"there is no agent {safe(agent)}: headgate agents list shows all")
    if len(called_so) > 1:
        ids = "\n".join(f"  {safe(one)}" for one in called_so)
        raise ValidationError(f"{len(called_so)} agents are called {safe(agent)}; name one by its id:\n{ids}")
    return str(called_so[0])


def agent_id_if_named(client: ApiClient, agent: str | None) -> str | None:
    """For an option that may be left out."""
    return None if agent is None else agent_id_of(client, agent)
