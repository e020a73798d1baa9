"""A gate whose answers are looked at by policies."""

from collections.abc import Awaitable, Callable, Mapping, Sequence

import pytest
from mitmproxy.http import HTTPFlow

from addons.inspection import AnswerLimits, Inspection
from addons.limits import RequestLimits
from addons.verdict import flow_state
from headgate.detectors.prepare import prepare
from headgate.gate.inspect_answer import AnswerJudge
from headgate.gate.judged_answer import AnsweredCall
from headgate.judges.daily_budget import DailyBudgets
from headgate.judges.judge import Judges
from headgate.judges.model import DEADLINE_SECONDS, Provider
from headgate.judges.transport import open_client
from headgate.kernel.clock import system_clock
from headgate.nlp_policies.evaluate import Evaluator
from headgate.nlp_policies.model import NlpPolicy, NlpResult
from tests.integration.proxy.answers.scripts import SECRETS, policy
from tests.integration.proxy.bidirectional_call import Messages


@pytest.fixture
async def judges():
    async with open_client() as client:
        made = Judges(client)
        yield made
        await made.close()


@pytest.fixture
def inspect(start, judges):
    """A gate whose answers are looked at by these policies; ``asking`` is called in place of asking them."""

    async def begin(
        *policies: NlpPolicy,
        limits: AnswerLimits | None = None,
        requests: RequestLimits | None = None,
        mcp_id: str | int | None = None,
        after: Sequence[object] = (),
        deadline_seconds: float = DEADLINE_SECONDS,
        asking: Callable[[], Awaitable[list[NlpResult]]] | None = None,
        providers: Mapping[str, Provider] | None = None,
    ):
        class Instead(Evaluator):
            async def evaluate_all(self, *_) -> list[NlpResult]:
                return await asking()

        kind = Evaluator if asking is None else Instead
        evaluator = kind(judges, DailyBudgets(system_clock), deadline_seconds, deadline_seconds)

        async def covered(flow: HTTPFlow) -> None:
            state = flow_state(flow)
            looking = policies or (policy(), SECRETS)
            judge = AnswerJudge(evaluator, looking, providers or {}, AnsweredCall("http", "get"), "agt_1")
            if state.stream.is_bidirectional:
                state.later_messages = Messages()  # type: ignore[assignment] # a double
            state.inspection = Inspection(
                judge,
                limits or AnswerLimits(),
                action_id="act_1",
                mcp_id=mcp_id,
                request_id=state.request_id,
                is_bidirectional=state.stream.is_bidirectional,
            )

        prepare()  # as a process does before its first call
        running = await start(*after, limits=requests)
        running.decide.before = covered
        return running

    return begin
