"""Policies that only watch: what they say of a call, and what the decision would have been with them.

A shadow policy is asked about calls that are decided and recorded already; nothing waits for it, and nothing that it
says or raises changes anything.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from headgate.policies.combine import combine
from headgate.policies.compile import Libraries
from headgate.policies.evaluate import PolicySet
from headgate.policies.marker import Marker
from headgate.policies.model import Decision, PolicyMode, PolicyVerdict, RulePolicy, Verdict


@dataclass(frozen=True, slots=True)
class ShadowVerdict:
    """What one shadow policy said of a call (None: nothing), and the decision that it would have led to."""

    policy_id: str
    version: int
    said: PolicyVerdict | None
    would: Verdict


class ShadowSet:
    """The enabled shadow policies of one organization, immutable. Each is asked alone: they do not hide each other."""

    def __init__(
        self,
        policies: Sequence[RulePolicy],
        data: bytes,
        *,
        libraries: Libraries = (),
        marker: Marker | None = None,
    ) -> None:
        watching = [one for one in policies if one.enabled and one.mode is PolicyMode.SHADOW]
        self._sets = [
            (one, PolicySet([replace(one, mode=PolicyMode.ENFORCE)], data, libraries=libraries, marker=marker))
            for one in watching
        ]

    def __len__(self) -> int:
        return len(self._sets)

    def ask(
        self, decision: Decision, input_bytes: bytes, *, tool: str, operation: str, host: str | None, method: str | None
    ) -> list[ShadowVerdict]:
        """Each policy's word beside ``decision``, which was made without them; never raises for content."""
        answers: list[ShadowVerdict] = []
        for policy, alone in self._sets:
            said = alone.decide(input_bytes, tool=tool, operation=operation, host=host, method=method).spoken
            verdict = said[0] if said else None
            answers.append(ShadowVerdict(policy.policy_id, policy.version, verdict, would_be(decision, verdict)))
        return answers


def would_be(decision: Decision, said: PolicyVerdict | None) -> Verdict:
    """The decision with this verdict counted in: ``spoken`` are all of the priority that decided, and earlier ones
    said nothing, so that no policy need be asked again."""
    return decision.verdict if said is None else combine((*decision.spoken, said)).verdict
