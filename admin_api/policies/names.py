"""Names of the policies that recorded decisions mention: rule policies and content policies."""

from collections.abc import Iterable

from headgate.db.database import Connection
from headgate.kernel.ids import IdPrefix
from headgate.nlp_policies.store import nlp_policy_names
from headgate.policies.store import policy_names


async def names_of_policies(connection: Connection, org_id: str, policy_ids: Iterable[str]) -> dict[str, str]:
    """By id, of deleted policies too; without those that do not exist."""
    wanted = set(policy_ids)
    content = {one for one in wanted if one.startswith(f"{IdPrefix.NLP_POLICY}_")}
    rules = wanted - content
    names = await policy_names(connection, org_id, rules) if rules else {}
    return names | (await nlp_policy_names(connection, org_id, content) if content else {})
