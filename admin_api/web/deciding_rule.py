"""Finds the rules behind the results of policies, with their lines, for people who may read policies."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from admin_api.policies.version_routes import rule
from admin_api.policies.version_schemas import DecidingRuleAnswer
from admin_api.web.api import Api
from headgate.agents.scopes import Scope
from headgate.kernel.errors import NotFoundError
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


@dataclass(frozen=True, slots=True)
class ShownRule:
    """``lines``: number and text of each, the first ones; ``more``: how many follow. No lines: not known."""

    name: str
    lines: tuple[tuple[int, str], ...]
    more: int


async def rules_of(api: Api, said: Iterable[tuple[Said, int | None]]) -> Mapping[str, ShownRule]:
    """Returns the rules by policy id, each with the evaluated version. Content policies have no rules."""
    if not api.may(Scope.POLICIES_READ):
        return {}
    found: dict[str, ShownRule] = {}
    for one, version in list(said)[:_MOST]:
        if version is None or one.decision not in _DECISIONS or not one.policy_id.startswith(f"{IdPrefix.POLICY}_"):
            continue
        try:
            answer = await api.call(
                rule, one.policy_id, version, api.principal, api.dependencies, Verdict(one.decision), one.reason
            )
        except NotFoundError:
            continue
        found[one.policy_id] = _shown(answer)
    return found


def _shown(answer: DecidingRuleAnswer) -> ShownRule:
    if answer.line is None or answer.source is None:
        return ShownRule(answer.policy_name, (), 0)
    lines = answer.source.split("\n")
    return ShownRule(
        answer.policy_name, tuple(enumerate(lines[:_LINES_MAX], answer.line)), max(len(lines) - _LINES_MAX, 0)
    )
