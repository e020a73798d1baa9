"""Finds the rules behind the results of policies, with their lines, for people who may read policies."""

from collections.abc import Iterable, Mapping
from typing import Final, Protocol

from msgspec import Struct

from admin_api.policies.deciding_rules import AskedRule, find_deciding_rules
from admin_api.policies.version_schemas import DecidingRuleAnswer
from admin_api.web.api import Api
from headgate.agents.scopes import Scope
from headgate.kernel.ids import IdPrefix
from headgate.policies.model import Verdict

_MOST: Final = 10
_LINES_MAX: Final = 24
_DECISIONS: Final = frozenset(one.value for one in Verdict)


class Said(Protocol):
    """The result of one policy, as calls and approvals show it."""

    @property
    def policy_id(self) -> str: ...
    @property
    def decision(self) -> str | None: ...
    @property
    def reason(self) -> str | None: ...


class ShownRule(Struct, frozen=True):
    """``lines``: number and text of each, the first ones; ``more``: how many follow. No lines: not known."""

    name: str
    lines: tuple[tuple[int, str], ...]
    more: int


async def rules_of(api: Api, said: Iterable[tuple[Said, int | None]]) -> Mapping[str, ShownRule]:
    """Returns the rules by policy id, each with the evaluated version. Content policies have no rules."""
    if not api.may(Scope.POLICIES_READ):
        return {}
    asked = [
        AskedRule(one.policy_id, version, Verdict(one.decision), one.reason)
        for one, version in list(said)[:_MOST]
        if version is not None and one.decision in _DECISIONS and one.policy_id.startswith(f"{IdPrefix.POLICY}_")
    ]
    found = await find_deciding_rules(api.dependencies.database, api.principal.org_id, asked) if asked else {}
    return {one.policy_id: _shown(answer) for one, answer in found.items()}


def _shown(answer: DecidingRuleAnswer) -> ShownRule:
    if answer.line is None or answer.source is None:
        return ShownRule(answer.policy_name, (), 0)
    lines = answer.source.split("\n")
    return ShownRule(
        answer.policy_name, tuple(enumerate(lines[:_LINES_MAX], answer.line)), max(len(lines) - _LINES_MAX, 0)
    )
