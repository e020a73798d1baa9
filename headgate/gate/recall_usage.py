"""Adds the agent's usage of today to a call of a language model (``input.usage``).

The record keeps it with the request, so that a replay has the same input. The digest leaves it out.
"""

from msgspec.structs import replace

from headgate.db.database import Database
from headgate.gate.candidate import BoundCandidate
from headgate.gate.organization_state import OrganizationState
from headgate.kernel.canonical_json import canonical_bytes
from headgate.llm_usage.memory import UsageMemory
from headgate.llm_usage.store import used_on


def with_usage(candidate: BoundCandidate, memory: UsageMemory, state: OrganizationState) -> BoundCandidate:
    """``candidate`` itself where no policy asks, or no language model is."""
    model = candidate.draft.model
    if model is None or not state.reads_usage:
        return candidate
    summary = memory.summary(state.org_id, candidate.agent_id, model.models, state.prices)
    # The last member in canonical order: of the request's members none sorts after it.
    member = b',"usage":' + canonical_bytes(summary) + b"}"
    request = candidate.request[:-1] + member if candidate.request else candidate.request
    return replace(candidate, rego_input=candidate.rego_input[:-1] + member, request=request)


async def read_usage(database: Database, memory: UsageMemory, org_id: str) -> None:
    """Brings what is on record into the memory. Raises UnavailableError."""
    async with database.transaction(org_id) as connection:
        day = memory.today
        rows, applied = await used_on(connection, org_id, day, memory.unrecorded(org_id))
    memory.read(org_id, day, rows, applied)
