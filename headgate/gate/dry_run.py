"""What would be decided of a call, and why: the live path's own decision, nothing stored, no counters moved."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from headgate.actions.delegation import DEFAULT_DEPTH
from headgate.actions.delegation_store import checked_chain
from headgate.actions.rego_input import rego_input
from headgate.actions.request import draft_of, parse_submission
from headgate.agents.store import find_agent
from headgate.connections.choose import choose
from headgate.db.database import Connection, Database
from headgate.gate.organization_state import OrganizationState, OrganizationStates
from headgate.gate.rehearse_content import ContentRehearsal, RehearsedContent
from headgate.gate.use_connection import input_with
from headgate.kernel.canonical_json import JsonObject, canonical_bytes
from headgate.kernel.errors import AmbiguousRequestError, NotFoundError, ValidationError
from headgate.organizations.store import generation as stored_generation
from headgate.policies.evaluate import PolicySet
from headgate.policies.explain import Explanation, explain_all
from headgate.policies.marker import Marker
from headgate.policies.model import Decision, PolicyMode
from headgate.protocols.draft import ActionDraft
from headgate.protocols.http_call import HttpCall
from headgate.tools.interpret import interpret
from headgate.tools.match import CatalogueIndex

_NOBODY: Final = ("agt_00000000-0000-7000-8000-000000000000", "dry run")
_PORTS: Final = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class HypotheticalCall:
    """A call that nobody made: an explicit action (the body of POST /v1/actions), or a request as it would be sent.

    ``agent_id`` None: an agent that no policy knows.
    """

    action: JsonObject | None
    http: HttpCall | None
    agent_id: str | None


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A call as the policies would see it, and the state that it would be decided on."""

    draft: ActionDraft
    agent_id: str
    input_bytes: bytes
    state: OrganizationState


@dataclass(frozen=True, slots=True)
class DryRunResult:
    """``asked``: the rule policies that the live path would have asked, by id. ``explanations``: all enabled ones.
    ``content``: what NLP policies made of ``rules_decision``."""

    hypothesis: Hypothesis
    rules_decision: Decision
    content: RehearsedContent
    explanations: list[Explanation]
    asked: frozenset[str]


class DryRun:
    """The use case behind POST /v1/dry-run, and what a simulation of one policy begins with."""

    def __init__(
        self,
        *,
        states: OrganizationStates,
        database: Database,
        catalogue: CatalogueIndex,
        marker: Marker | None,
        content: ContentRehearsal,
        delegation_depth: int = DEFAULT_DEPTH,
    ) -> None:
        self._delegation_depth = delegation_depth
        self._content = content
        self._states = states
        self._database = database
        self._catalogue = catalogue
        self._marker = marker
        self._one_at_a_time = asyncio.Lock()  # a marker has one evaluating thread

    async def suppose(self, org_id: str, call: HypotheticalCall) -> Hypothesis:
        """Raises ValidationError, NotFoundError (the agent), NoConnectionError, BrokenConnectionError,
        UnavailableError."""
        agent_id, agent_name = _NOBODY
        async with self._database.transaction(org_id) as connection:
            draft = await self._draft(connection, org_id, call)
            generation = await stored_generation(connection, org_id)
            if call.agent_id is not None:
                agent = await find_agent(connection, org_id, call.agent_id)
                if agent is None:
                    raise NotFoundError(f"there is no agent {call.agent_id}")
                agent_id, agent_name = agent.agent_id, agent.name
        state = await self._states.at_least(org_id, generation)
        document = rego_input(draft, agent_id=agent_id, agent_name=agent_name)
        used = choose(state.connections, draft, agent_id)
        if used is not None:
            document = input_with(document, used)
        return Hypothesis(draft, agent_id, document, state)

    async def run(self, org_id: str, call: HypotheticalCall, *, trace: bool, ask_judges: bool) -> DryRunResult:
        """The decision of the live path, and what everybody says.

        Raises ValidationError, NotFoundError (the agent), UnavailableError.
        """
        hypothesis = await self.suppose(org_id, call)
        said = await self.decide_by_rules(hypothesis, trace=trace)
        content = await self.judge_content(hypothesis, said.decision, ask_judges=ask_judges)
        return DryRunResult(hypothesis, said.decision, content, said.explanations, said.asked)

    async def decide_by_rules(self, hypothesis: Hypothesis, *, trace: bool) -> "RulesSaid":
        async with self._one_at_a_time:
            return await asyncio.to_thread(_decide, hypothesis, self._marker, trace)

    async def judge_content(self, hypothesis: Hypothesis, decision: Decision, *, ask_judges: bool) -> RehearsedContent:
        """What NLP policies make of the rules' ``decision``."""
        return await self._content.tightened(
            hypothesis.state, hypothesis.draft, hypothesis.agent_id, decision, ask_judges=ask_judges
        )

    async def _draft(self, connection: Connection, org_id: str, call: HypotheticalCall) -> ActionDraft:
        if call.http is not None:
            try:
                return interpret(call.http, self._catalogue)
            except AmbiguousRequestError as error:
                raise ValidationError(
                    f"the gate refuses such a request before any policy is asked: {error.message}",
                    details=error.details,
                ) from error
        submission = parse_submission(canonical_bytes(call.action or {}))
        chain = await checked_chain(connection, org_id, submission.parent_action_id, most=self._delegation_depth)
        return draft_of(submission, self._catalogue, chain)


@dataclass(frozen=True, slots=True)
class RulesSaid:
    """What rule policies decide, what each says, and which of them the live path would have asked."""

    decision: Decision
    explanations: list[Explanation]
    asked: frozenset[str]


def _decide(hypothesis: Hypothesis, marker: Marker | None, trace: bool) -> RulesSaid:
    state, draft = hypothesis.state, hypothesis.draft
    around = state.around
    data, libraries = (b"{}", ()) if around is None else (around.data, around.libraries)
    # The same texts with the same data are compiled already: this costs a list, and has a marker of its own.
    policies = PolicySet(state.rules, data, libraries=libraries, marker=marker)
    host = None if draft.call is None else draft.call.host
    method = None if draft.call is None else draft.call.method
    decision = policies.decide(
        hypothesis.input_bytes, tool=draft.tool, operation=draft.operation, host=host, method=method
    )
    concerned = policies.concerned(tool=draft.tool, operation=draft.operation, host=host, method=method)
    last = decision.spoken[0].priority if decision.spoken else None
    asked = {one.policy_id for one in concerned if last is None or one.priority <= last}
    explanations = explain_all(state.rules, data, libraries, hypothesis.input_bytes, trace=trace, marker=marker)
    return RulesSaid(
        decision,
        explanations,
        frozenset(one.policy.policy_id for one in explanations if one.policy.mode is PolicyMode.ENFORCE)
        & frozenset(asked),
    )


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
