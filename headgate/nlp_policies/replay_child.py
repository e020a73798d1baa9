"""Recorded actions decided again with NLP policies of the provider ``embedded`` as well.

``python -m headgate.nlp_policies.replay_child``: as ``headgate.policies.replay_child``, with ``nlp`` in the first
frame.
Both decisions, without the change and with it, are made stricter by what the detectors find in what was recorded.
"""

from collections.abc import Mapping, Sequence
from typing import Final, cast

from headgate.detectors.assess import EmbeddedModel, assess
from headgate.detectors.prepare import prepare
from headgate.kernel.canonical_json import JsonObject, JsonValue, parse_strict
from headgate.nlp_policies.document import document_of, draft_of_document
from headgate.nlp_policies.model import Direction, NlpPolicy, NlpResult, strictest
from headgate.nlp_policies.results import detected
from headgate.policies.model import Verdict
from headgate.policies.replay_child import EPOCH, Replayer, serve

MODULE: Final = "headgate.nlp_policies.replay_child"
_NOT_CONTENT: Final = frozenset(("effect",))


def start_members(policies: Sequence[NlpPolicy]) -> JsonObject:
    """What the child is told of them."""
    told: list[JsonValue] = [
        {"policy_id": one.policy_id, "version": one.version, "org_id": one.org_id, "draft": document_of(one.draft)}
        for one in policies
    ]
    return {"nlp": told}


class ContentReplayer(Replayer):
    """After the rules, on what they do not deny, as in the live path."""

    def __init__(self, start: JsonObject) -> None:
        super().__init__(start)
        self._policies = [_policy(cast("JsonObject", one)) for one in cast("list[JsonValue]", start["nlp"])]
        prepare()

    def _one(self, action: Mapping[str, str]) -> list[JsonValue]:
        answer = super()._one(action)
        before, after, reason, policy_id, failed = answer
        judged = {before, after} & {Verdict.ALLOW.value, Verdict.REQUIRE_APPROVAL.value}
        concerned = [one for one in self._policies if _covers(one, action)] if judged else []
        if not concerned:
            return answer
        content = _content(action)
        results = [_asked(one, content) for one in concerned]
        said = strictest(one.decision for one in results)
        tightened = [_tightened(verdict, said) for verdict in (before, after)]
        if tightened[1] != after:
            objecting = next(one for one in results if one.decision is said)
            name = next(one.draft.name for one in concerned if one.policy_id == objecting.policy_id)
            reason, policy_id = f"{name}: {objecting.reasoning}", objecting.policy_id
        return [*tightened, reason, policy_id, failed]


def _asked(policy: NlpPolicy, content: JsonValue) -> NlpResult:
    draft = policy.draft
    return detected(policy, assess(EmbeddedModel(policy.model), content, draft.prompt, kinds=draft.scope.kinds))


def _tightened(verdict: JsonValue, said: Verdict) -> str:
    return strictest((Verdict(str(verdict)), said)).value


def _covers(policy: NlpPolicy, action: Mapping[str, str]) -> bool:
    return policy.draft.scope.covers(
        tool=action["tool"],
        operation=action["operation"],
        agent_id=action["agent_id"],
        direction=Direction.REQUEST,
    )


def _content(action: Mapping[str, str]) -> JsonObject:
    """As ``workflows.judged_content``, of what is left of the call: its body is not kept."""
    recorded = parse_strict(action["request"].encode())
    members = recorded if isinstance(recorded, dict) else {}
    kept = {name: value for name, value in members.items() if name not in _NOT_CONTENT}
    return {"tool": action["tool"], "operation": action["operation"], **kept}


def _policy(told: JsonObject) -> NlpPolicy:
    draft = draft_of_document(cast("JsonObject", told["draft"]))
    return NlpPolicy(str(told["org_id"]), str(told["policy_id"]), int(str(told["version"])), draft, EPOCH, EPOCH)


if __name__ == "__main__":
    serve(ContentReplayer)
