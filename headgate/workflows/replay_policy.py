"""A changed policy over the recorded actions of a range of time: progress as it goes, a report at the end."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Final

from msgspec import Struct

from headgate.actions.replay_store import RecordedAction, ReplayRange, count_recorded, recorded_actions
from headgate.db.database import Database
from headgate.journal.apply import apply_before_reading
from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.kernel.errors import ConflictError
from headgate.nlp_policies.model import EMBEDDED, ONNX, Direction, NlpPolicy
from headgate.nlp_policies.replay_child import MODULE as CONTENT_CHILD
from headgate.nlp_policies.replay_child import start_members
from headgate.policies.model import RulePolicy
from headgate.policies.replay import ReplayedAction, ReplayTally
from headgate.policies.replay_child import ReplayChild, replay_child
from headgate.policies.surroundings import Surroundings

_PAGE_ACTIONS: Final = 250
_PAGE_ACTIONS_WITH_DETECTORS: Final = 50  # each may take most of a second


class Replay(Struct, frozen=True):
    """``change``: the policy as it would be; ``policies`` and ``around`` those of now. ``most``: how many actions.

    ``nlp_policies``: all that are enabled; ``detectors``: whether those that need no language model are asked too.
    """

    org_id: str
    change: RulePolicy
    policies: Sequence[RulePolicy]
    around: Surroundings
    wanted: ReplayRange
    most: int
    examples_of_each: int
    nlp_policies: Sequence[NlpPolicy] = ()
    detectors: bool = False

    @property
    def asked(self) -> list[NlpPolicy]:
        """NLP policies that are asked as well. One about responses only has nothing to say of a call."""
        return [one for one in self.nlp_policies if self.detectors and _can_be_asked(one)]

    @property
    def page_actions(self) -> int:
        return _PAGE_ACTIONS_WITH_DETECTORS if self.asked else _PAGE_ACTIONS


def _can_be_asked(policy: NlpPolicy) -> bool:
    return policy.draft.provider == EMBEDDED and policy.draft.scope.direction is not Direction.RESPONSE


class Progress(Struct, frozen=True):
    done: int
    total: int


class ReplayPolicy:
    """The use case behind POST /admin/policies/replay: one at a time, as each takes a processor."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._running = asyncio.Lock()

    async def run(self, replay: Replay) -> AsyncIterator[Progress | JsonObject]:
        """Progress after each page, and at last the report. Whoever stops reading stops it.

        Raises ConflictError where another replay runs, UnavailableError.
        """
        if self._running.locked():
            raise ConflictError("Another replay is running in this process. Wait until it ends, or cancel it.")
        async with self._running:
            tally = ReplayTally(replay.examples_of_each)
            await apply_before_reading(self._database, replay.org_id)
            async with self._database.transaction(replay.org_id) as connection:
                total = min(replay.most, await count_recorded(connection, replay.org_id, replay.wanted))
            yield Progress(0, total)
            around = replay.around
            async with _child(replay, around) as child:
                async for done in self._pages(replay, child, tally):
                    yield Progress(done, max(done, total))
            yield {**tally.report(), "total": total, "nlp": _nlp_report(replay)}

    async def _pages(self, replay: Replay, child: ReplayChild, tally: ReplayTally) -> AsyncIterator[int]:
        done, page = 0, await self._page(replay, None, replay.most)
        while page:
            asked = [one for one in page if one.request is not None]
            await child.send([_sent(one) for one in asked])
            # The next page is read while this one is decided.
            following = await self._page(replay, page[-1].action_id, replay.most - done - len(page))
            for one, answer in zip(asked, await child.receive(), strict=True):
                tally.add(_replayed(one, answer))
            tally.left_out += len(page) - len(asked)
            done += len(page)
            yield done
            page = following

    async def _page(self, replay: Replay, after: str | None, left: int) -> Sequence[RecordedAction]:
        if left <= 0:
            return []
        async with self._database.transaction(replay.org_id) as connection:
            return await recorded_actions(
                connection, replay.org_id, replay.wanted, after=after, limit=min(replay.page_actions, left)
            )


def _child(replay: Replay, around: Surroundings) -> AbstractAsyncContextManager[ReplayChild]:
    if not replay.asked:
        return replay_child(replay.policies, replay.change, around.data, around.libraries)
    return replay_child(
        replay.policies,
        replay.change,
        around.data,
        around.libraries,
        module=CONTENT_CHILD,
        more=start_members(replay.asked),
    )


def _nlp_report(replay: Replay) -> JsonObject:
    """Which NLP policies both decisions have in them, and which not, though the live path asks them."""
    asked: list[JsonValue] = [_named(one, None) for one in replay.asked]
    left_out: list[JsonValue] = [
        _named(one, _why_left_out(one)) for one in replay.nlp_policies if one not in replay.asked
    ]
    return {
        "asked": asked,
        "left_out": left_out,
        "content": "what was recorded: params and the call as reviewers see it, credentials masked; no raw bodies",
    }


def _why_left_out(policy: NlpPolicy) -> str:
    if policy.draft.provider == ONNX:
        return "local classifiers are not asked again"
    if policy.draft.provider != EMBEDDED:
        return "language models are not asked again"
    return "not asked for (detectors)" if _can_be_asked(policy) else "only about responses"


def _named(policy: NlpPolicy, why: str | None) -> JsonObject:
    named: JsonObject = {"policy_id": policy.policy_id, "version": policy.version, "name": policy.draft.name}
    return named if why is None else {**named, "why": why}


def _sent(one: RecordedAction) -> dict[str, object]:
    return {
        "request": one.request,
        "tool": one.tool,
        "operation": one.operation,
        "source": one.source,
        "agent_id": one.agent_id,
        "agent_name": one.agent_name,
    }


def _replayed(one: RecordedAction, answer: list[JsonValue]) -> ReplayedAction:
    before, after, reason, policy_id, failed = answer
    return ReplayedAction(
        one.action_id,
        one.agent_id,
        one.agent_name,
        one.tool,
        one.operation,
        one.created_at,
        one.decision,
        one.human,
        str(before),
        str(after),
        str(reason),
        None if policy_id is None else str(policy_id),
        bool(failed),
    )
