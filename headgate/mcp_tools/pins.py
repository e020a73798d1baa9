"""Notes the tools of lists as they pass, in a process that sees many of them.

A list that was noted in this generation is not noted again: nothing can have become of its tools since, for a change
raises the generation. So an agent that lists again and again asks the database once.
"""

from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

from headgate.db.database import Database
from headgate.kernel.clock import Clock
from headgate.kernel.errors import UnavailableError
from headgate.mcp_tools.model import TOOLS_OF_SERVER_MAX, definitions, list_digest
from headgate.mcp_tools.store import Noted, names_elsewhere, note_tools
from headgate.protocols.mcp_tool_list import OfferedTool

_REMEMBERED_MAX: Final = 1_000


class ToolPins:
    """Of one process."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._noted: OrderedDict[tuple[str, str, int, bytes], Noted] = OrderedDict()

    async def names_elsewhere(self, org_id: str, server: str, agent_id: str) -> frozenset[str]:
        """Names of tools that other servers have offered before this one's definitions. Raises UnavailableError."""
        async with self._database.transaction(org_id) as connection:
            return await names_elsewhere(connection, org_id, server, agent_id)

    async def note(
        self,
        org_id: str,
        generation: int,
        server: str,
        tools: Iterable[OfferedTool],
        *,
        agent_id: str,
        action_id: str | None,
    ) -> Noted:
        """Durable when it answers. Raises UnavailableError, where there is no room for what is new, too."""
        listed = definitions(tools)
        if not listed:
            return Noted(0, frozenset(), is_full=False)
        key = (org_id, server, generation, list_digest(listed))
        noted = self._noted.get(key)
        if noted is None:
            async with self._database.across_organizations() as connection:
                noted = await note_tools(
                    connection, org_id, server, listed, agent_id=agent_id, action_id=action_id, at=self._clock()
                )
            if noted.is_full:
                raise UnavailableError(
                    f"no more tools of {server} can be pinned: a server may have {TOOLS_OF_SERVER_MAX}."
                    f" An administrator can run: headgate mcp-tools forget {server}"
                )
            self._noted[key] = Noted(0, noted.changed, is_full=False)
            if len(self._noted) > _REMEMBERED_MAX:
                self._noted.popitem(last=False)
        return noted
