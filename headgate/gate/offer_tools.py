"""Selects the tools that an agent is offered from an MCP server that it runs itself (``headgate mcp``)."""

from collections.abc import Sequence

from msgspec import Struct

from headgate.agents.model import KeyIdentity
from headgate.gate.caller import Caller, Callers
from headgate.gate.candidate import candidate_for, read_action
from headgate.gate.inspect_answer import NOTHING_SAID, Verdicts, answer_judge
from headgate.gate.judged_answer import Definitions
from headgate.gate.offered_tools import Offer, RulesInTurns, ToolListing
from headgate.kernel.secrets import Secret
from headgate.mcp_tools.pins import ToolPins
from headgate.nlp_policies.evaluate import Evaluator
from headgate.protocols.draft import Source, make_draft
from headgate.protocols.mcp import LIST_OPERATION
from headgate.protocols.mcp_tool_list import OfferedTool


class OfferTools(Struct, frozen=True):
    """The use case behind POST /v1/mcp-tools/offer."""

    callers: Callers
    rules: RulesInTurns
    pins: ToolPins
    evaluator: Evaluator

    async def offer(
        self, key: Secret, identity: KeyIdentity, server: str, tools: Sequence[OfferedTool]
    ) -> tuple[Offer, Verdicts]:
        """What becomes of the list, and what policies about content say of what is left of it.

        Raises ValidationError (no name of a tool), UnauthorizedError, UnavailableError.
        """
        state, identity = await self.callers.at_one_generation(Caller(key, identity))
        draft = make_draft(tool=server, operation=LIST_OPERATION, params={}, source=Source.API)
        offer = await ToolListing(self.rules, self.pins, state, identity, draft, None).offer(tools)
        judge = answer_judge(self.evaluator, state, read_action(candidate_for(identity, draft)))
        if judge is None:
            return offer, NOTHING_SAID
        left = [tool.definition for tool in tools if tool.name not in offer.denied]
        return offer, await judge.of_definitions(Definitions(left, offer.elsewhere))
