"""Asks several policies with detectors about one content, which is decoded once for all of them."""

from collections.abc import Mapping, Sequence
from functools import cache
from time import perf_counter
from typing import Final

import structlog
from msgspec.structs import replace

from headgate.detectors.assess import AssessedContent, EmbeddedModel, Query
from headgate.detectors.limits import DEFAULT_LIMITS, Limits
from headgate.judges.model import Failure
from headgate.kernel.canonical_json import JsonValue
from headgate.kernel.errors import HeadgateError
from headgate.nlp_policies.content import JudgedContent
from headgate.nlp_policies.model import NlpPolicy, NlpResult
from headgate.nlp_policies.results import detected, failed, with_unscannable
from headgate.policies.model import Verdict

_log = structlog.get_logger(__name__)

SMALL_CHARACTERS: Final = 2048
SMALL_VALUES: Final = 100
SMALL_LIMITS: Final = Limits(
    input_bytes_max=2 * SMALL_CHARACTERS,
    decoded_factor=0,
    decoded_bytes_floor=4 * SMALL_CHARACTERS,
    candidates_floor=64,
    seconds_max=0.005,
    is_for_all=True,
)
"""Limits of an inspection in the event loop. Most calls fit them; a switch to a thread costs as much as inspecting."""


class DetectorRound:
    """For one thread at a time; ``results`` may be read meanwhile. ``policies`` are of one organization; ``left`` have
    not answered yet."""

    def __init__(self, policies: Sequence[NlpPolicy], content: JudgedContent) -> None:
        self.policies = policies
        self.agent_id = content.agent_id
        self._began = perf_counter()
        self._content = content
        self._aside = cache(content.aside)
        self._assessed: AssessedContent | None = None
        excepted = {name for policy in policies for name in policy.draft.scope.except_headers}
        self._excepted = content.header_names() & excepted if excepted else frozenset[str]()
        self.left = list(policies)
        self.results: dict[str, NlpResult] = {}

    @property
    def is_denied(self) -> bool:
        return any(result.decision is Verdict.DENY for result in self.results.values())

    @property
    def is_small(self) -> bool:
        return _is_small(self._content)

    def ask_within_small_limits(self) -> None:
        """Those whose inspection meets no limit of ``SMALL_LIMITS``; the others are left."""
        until = perf_counter() + SMALL_LIMITS.seconds_max
        for policy in tuple(self.left):
            if perf_counter() < until and len(policy.draft.prompt or "") <= SMALL_CHARACTERS:
                self._ask(policy, SMALL_LIMITS)
        self._assessed = None

    def ask_for(self, seconds: float) -> None:
        """At least one; no further one after so much time. Each may take longer (``DEFAULT_LIMITS``)."""
        until = perf_counter() + seconds
        for policy in tuple(self.left):
            self._ask(policy, DEFAULT_LIMITS)
            if perf_counter() >= until:
                break
        self._assessed = None  # hundreds may wait for their next turn, each with a decoded content

    def _ask(self, policy: NlpPolicy, limits: Limits) -> None:
        result = self._result(policy, limits)
        if result is not None:
            latency_ms = round((perf_counter() - self._began) * 1000, 3)
            self.results[policy.policy_id] = replace(result, latency_ms=latency_ms)
            self.left.remove(policy)

    def _result(self, policy: NlpPolicy, limits: Limits) -> NlpResult | None:
        """None where a small limit was met."""
        content = self._content
        try:
            if self._assessed is None:
                value = content.for_detectors(self._excepted)
                self._assessed = AssessedContent(value, limits, content.attachments, content.other_tools)
            found = self._assessed.assess(self._query(policy))
            if found.inspection.gaps and limits is SMALL_LIMITS:
                return None
            result = detected(policy, found, limits_pass=content.limits_pass)
        except HeadgateError as error:
            return failed(policy, Failure.INTERNAL.value, error.message)
        except Exception as error:  # noqa: BLE001 - a defect in a detector must hold the call, not let it through
            _log.error("nlp_policy_failed", policy_id=policy.policy_id, error=repr(error))
            return failed(policy, Failure.INTERNAL.value, "the policy could not be evaluated")
        return with_unscannable(policy, content.unscannable, result)

    def _query(self, policy: NlpPolicy) -> Query:
        scope = policy.draft.scope
        aside = self._aside(self._excepted.difference(scope.except_headers))
        joined = self._content.joined_without(scope.except_headers)
        model = EmbeddedModel(policy.model)
        call = self._content.by_field(scope.except_headers) if model is EmbeddedModel.HOST_NAMES else None
        signs_in: Mapping[str, Sequence[str]] = {}
        if model is EmbeddedModel.SECRETS:
            signs_in = self._content.fields(name for name in self._excepted if name in scope.except_headers)
        return Query(model, policy.draft.prompt, scope.kinds, aside, joined, call, signs_in)


def _is_small(content: JudgedContent) -> bool:
    """Whether it has at most ``SMALL_CHARACTERS`` and ``SMALL_VALUES``; stops counting there."""
    if content.attachments or content.other_tools is not None:
        return False
    left = SMALL_CHARACTERS - sum(len(one.text) + sum(map(len, one.before)) for one in content.joined)
    values = SMALL_VALUES
    stack: list[JsonValue] = [content.value, [text for texts in content.sent.values() for text in texts]]
    while stack and values >= 0 and left >= 0:
        one = stack.pop()
        if isinstance(one, str):
            left -= len(one)
        elif isinstance(one, dict | list):
            values -= len(one)
            if values >= 0:
                stack.extend(one.values() if isinstance(one, dict) else one)
                left -= sum(map(len, one)) if isinstance(one, dict) else 0
    return values >= 0 and left >= 0
