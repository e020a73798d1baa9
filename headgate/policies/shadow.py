"""Shadow policies: evaluates their verdict on a call, and the decision that would have followed.

A shadow policy is evaluated after the call is decided and recorded. No call waits for it, and neither its verdict nor
its failure changes anything.
"""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from headgate.policies.combine import combine
from headgate.policies.compile import Libraries
from headgate.policies.evaluate import PolicySet
from headgate.policies.marker import Marker
from headgate.policies.model import Decision, PolicyMode, PolicyVerdict, RulePolicy, Verdict


class ShadowVerdict(Struct, frozen=True):
    """One shadow policy's verdict on a call (None: none), and the decision that it would have led to."""

    policy_id: str
    version: int
    said: PolicyVerdict | None
    would: Verdict


class ShadowSet:
    """The enabled shadow policies of one organization, immutable. Each is evaluated alone: they do not override each
    other."""

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
        """Each policy's verdict beside ``decision``, which was made without them; the content never raises."""
        answers: list[ShadowVerdict] = []
        for policy, alone in self._sets:
            said = alone.decide(input_bytes, tool=tool, operation=operation, host=host, method=method).spoken
            verdict = said[0] if said else None
            answers.append(ShadowVerdict(policy.policy_id, policy.version, verdict, would_be(decision, verdict)))
        return answers


def would_be(decision: Decision, said: PolicyVerdict | None) -> Verdict:
    """The decision with this verdict included. ``spoken`` are all policies of the deciding priority, and earlier
    priorities had no verdict, so no policy must be evaluated again."""
    return decision.verdict if said is None else combine((*decision.spoken, said)).verdict
