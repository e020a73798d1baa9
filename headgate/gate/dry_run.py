"""Decides a hypothetical call in the live pipeline and explains the decision. Stores and counts nothing."""

import asyncio
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct

from headgate.actions.delegation import DEFAULT_DEPTH
from headgate.actions.delegation_store import checked_chain
from headgate.actions.digest import action_digest
from headgate.actions.rego_input import rego_input
from headgate.actions.request import draft_of, parse_submission
from headgate.agents.store import get_agent
from headgate.connections.placeholders import mentions_placeholder
from headgate.db.database import Connection, Database
from headgate.gate.candidate import NO_SUBMISSION, BoundCandidate, Candidate, with_connection
from headgate.gate.masked_call import masked_call, not_charged
from headgate.gate.organization_state import OrganizationState, OrganizationStates
from headgate.gate.pipeline import DecisionPipeline, Masked, RuleDecider, decide_masked, recall_nothing
from headgate.gate.preconditions import unconditional
from headgate.gate.rehearse_content import ContentRehearsal, RehearsedContent
from headgate.journal.apply import apply_before_reading
from headgate.kernel.canonical_json import JsonObject, canonical_bytes
from headgate.kernel.errors import AmbiguousRequestError, ValidationError
from headgate.nlp_policies.rehearsal import Rehearsals
from headgate.organizations.store import generation as stored_generation
from headgate.policies.evaluate import PolicySet
from headgate.policies.explain import Explanation, explain_all
from headgate.policies.marker import Marker
from headgate.policies.model import Decision, PolicyMode, Verdict
from headgate.protocols.draft import ActionDraft
from headgate.protocols.http_call import HttpCall
from headgate.tools.explicit import with_body
from headgate.tools.interpret import interpret
from headgate.tools.match import CatalogueIndex

_NOBODY: Final = ("agt_00000000-0000-7000-8000-000000000000", "dry run")
_PORTS: Final = {"http": 80, "https": 443}


class HypotheticalCall(Struct, frozen=True):
    """A hypothetical call: an explicit action (the body of POST /v1/actions), or a request as it would be sent.

    ``agent_id`` None: an agent that no policy knows.
    """

    action: JsonObject | None
    http: HttpCall | None
    agent_id: str | None


class Hypothesis(Struct, frozen=True):
    """A call as the policies would see it, and the state that it would be decided on."""

    candidate: BoundCandidate
    state: OrganizationState
    agent_name: str

    async def bind(self, candidate: Candidate) -> BoundCandidate:
        """Raises NoConnectionError, BrokenConnectionError."""
        return with_connection(candidate, self.state.connections, self.state.org_id)


def _supposed(draft: ActionDraft, org_id: str, agent_id: str, agent_name: str) -> Candidate:
    return Candidate(
        agent_id=agent_id,
        draft=draft,
        digest=action_digest(draft, org_id=org_id, agent_id=agent_id),
        rego_input=rego_input(draft, agent_id=agent_id, agent_name=agent_name),
        request=b"",
        submission=NO_SUBMISSION,
        asks_for_connection=mentions_placeholder(draft),
    )


class DryRunResult(Struct, frozen=True):
    hypothesis: Hypothesis
    rules: "RulesSaid"
    content: RehearsedContent


class DryRun:
    """The use case behind POST /v1/dry-run, and what a simulation of one policy begins with."""

    def __init__(
        self,
        *,
        states: OrganizationStates,
        database: Database,
        catalogue: CatalogueIndex,
        marker: Marker | None,
        rehearsals: Rehearsals,
        delegation_depth: int = DEFAULT_DEPTH,
    ) -> None:
        self._delegation_depth = delegation_depth
        self._rehearsals = rehearsals
        self._states = states
        self._database = database
        self._catalogue = catalogue
        self._marker = marker
        self._one_at_a_time = asyncio.Lock()  # a marker has one evaluating thread

    async def suppose(self, org_id: str, call: HypotheticalCall) -> Hypothesis:
        """Raises ValidationError, NotFoundError (the agent), NoConnectionError, BrokenConnectionError,
        UnavailableError."""
        agent_id, agent_name = _NOBODY
        await apply_before_reading(self._database, org_id)  # the chain of delegation
        async with self._database.transaction(org_id) as connection:
            draft = await self._draft(connection, org_id, call)
            generation = await stored_generation(connection, org_id)
            if call.agent_id is not None:
                agent = await get_agent(connection, org_id, call.agent_id)
                agent_id, agent_name = agent.agent_id, agent.name
        state = await self._states.at_least(org_id, generation)
        candidate = _supposed(draft, org_id, agent_id, agent_name)
        return Hypothesis(with_connection(candidate, state.connections, org_id), state, agent_name)

    async def run(self, org_id: str, call: HypotheticalCall, *, trace: bool, ask_judges: bool) -> DryRunResult:
        """Decides the call and explains each policy.

        Raises ValidationError, NotFoundError (the agent), UnavailableError.
        """
        hypothesis = await self.suppose(org_id, call)
        rules = ExplainedRules(self._marker, self._one_at_a_time, trace=trace)
        content = await self.decide(hypothesis, rules, ask_judges=ask_judges)
        return DryRunResult(hypothesis, rules.said, content)

    async def explain_rules(self, hypothesis: Hypothesis) -> "RulesSaid":
        """What each rule policy says."""
        rules = ExplainedRules(self._marker, self._one_at_a_time, trace=False)
        await rules.in_turn(hypothesis.state, hypothesis.candidate)
        return rules.said

    async def decide(self, hypothesis: Hypothesis, rules: RuleDecider, *, ask_judges: bool) -> RehearsedContent:
        """The decision, and what each policy about content says of what ``rules`` decide."""
        content = ContentRehearsal(self._rehearsals, ask_judges=ask_judges)
        pipeline = DecisionPipeline(unconditional, rules, content)
        decision = await pipeline.decide(hypothesis.state, hypothesis.candidate)
        first = RehearsedContent(decision, content.asked)
        masked = await self._masked(hypothesis, decision)
        if masked is None:
            return first
        content = ContentRehearsal(self._rehearsals, ask_judges=ask_judges)
        pipeline = DecisionPipeline(unconditional, rules, content)
        second = await decide_masked(pipeline, hypothesis.state, decision, masked, recall_nothing)
        return first if second is None else RehearsedContent(second, first.masked_by(content.asked))

    async def _masked(self, hypothesis: Hypothesis, decision: Decision) -> Masked | None:
        """As the ways in do it."""
        if not decision.to_mask or decision.verdict is Verdict.DENY:
            return None
        draft, state, agent_id = hypothesis.candidate.draft, hypothesis.state, hypothesis.candidate.agent_id

        async def read(call: HttpCall, body: bytes) -> Candidate:
            masked = with_body(draft, call, body, self._catalogue)
            return _supposed(masked, state.org_id, agent_id, hypothesis.agent_name)

        return await masked_call(hypothesis.candidate, decision.to_mask, read, hypothesis.bind, not_charged)

    async def _draft(self, connection: Connection, org_id: str, call: HypotheticalCall) -> ActionDraft:
        if call.http is not None:
            try:
                return interpret(call.http, self._catalogue)
            except AmbiguousRequestError as error:
                raise ValidationError(
                    f"The proxy refuses such a request before policies are evaluated: {error.message}",
                    details=error.details,
                ) from error
        submission = parse_submission(canonical_bytes(call.action or {}))
        chain = await checked_chain(connection, org_id, submission.parent_action_id, most=self._delegation_depth)
        return draft_of(submission, self._catalogue, chain)


class RulesSaid(Struct, frozen=True):
    """What rule policies decide, and what each enabled one says. ``asked``: the ids of those that the live path would
    have asked."""

    decision: Decision
    explanations: list[Explanation]
    asked: frozenset[str]


class ExplainedRules:
    """Rule policies, in a thread beside the loop; ``said`` is there after the decision."""

    said: RulesSaid

    def __init__(self, marker: Marker | None, turn: asyncio.Lock, *, trace: bool) -> None:
        self._marker = marker
        self._turn = turn
        self._trace = trace

    def at_once(self, state: OrganizationState, candidate: BoundCandidate) -> None:
        """Every policy is asked, which takes its time."""

    async def in_turn(self, state: OrganizationState, candidate: BoundCandidate) -> Decision:
        async with self._turn:
            self.said = await asyncio.to_thread(self._ask_all, state, candidate)
        return self.said.decision

    def _ask_all(self, state: OrganizationState, candidate: BoundCandidate) -> RulesSaid:
        draft, around = candidate.draft, state.around
        data, libraries = (b"{}", ()) if around is None else (around.data, around.libraries)
        # The engine keeps compiled policies: this costs a list, and has its own marker.
        policies = PolicySet(state.rules, data, libraries=libraries, marker=self._marker)
        host = None if draft.call is None else draft.call.host
        method = None if draft.call is None else draft.call.method
        decision = policies.decide(
            candidate.rego_input, tool=draft.tool, operation=draft.operation, host=host, method=method
        )
        concerned = policies.concerned(tool=draft.tool, operation=draft.operation, host=host, method=method)
        last = decision.spoken[0].priority if decision.spoken else None
        asked = {one.policy_id for one in concerned if last is None or one.priority <= last}
        explanations = explain_all(
            state.rules, data, libraries, candidate.rego_input, trace=self._trace, marker=self._marker
        )
        enforced = {one.policy.policy_id for one in explanations if one.policy.mode is PolicyMode.ENFORCE}
        return RulesSaid(decision, explanations, frozenset(enforced & asked))


class GivenRules(Struct, frozen=True):
    """A decision of rule policies that is known already."""

    decision: Decision

    def at_once(self, state: OrganizationState, candidate: BoundCandidate) -> Decision:
        return self.decision

    async def in_turn(self, state: OrganizationState, candidate: BoundCandidate) -> Decision:
        return self.decision


def http_call_of(method: str, url: str, headers: Mapping[str, str], body: bytes) -> HttpCall:
    """A request as it would be sent. Raises ValidationError."""
    try:
        parts = urlsplit(url)
        port = parts.port
        fields = tuple((name.encode("ascii").lower(), value.encode("latin-1")) for name, value in headers.items())
        url.encode("ascii")
    except (ValueError, UnicodeEncodeError) as error:
        raise ValidationError(
            f"http: not a request that could be sent: {error}", details={"field": "http.url", "reason": "malformed"}
        ) from error
    if parts.scheme not in _PORTS or not parts.hostname or parts.username is not None or parts.fragment:
        raise ValidationError(
            "http.url must be an http or https URL with a host, without credentials or fragment",
            details={"field": "http.url", "reason": "not a URL of a request"},
        )
    return HttpCall(
        method=method,
        scheme=parts.scheme,
        host=parts.hostname,
        port=port or _PORTS[parts.scheme],
        path=parts.path or "/",
        query=parts.query,
        headers=fields,
        body=body,
    )
