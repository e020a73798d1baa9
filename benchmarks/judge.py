"""What asking a language model costs beside the model's own time: ``python -m benchmarks.judge [--rounds 200]``.

A provider on the loopback interface waits 20 ms and answers; it says itself for how long it had each request. What a
policy's evaluation took beyond that is ours: secrets masked, question and key made, request, answer read and checked,
and the connection. Each content is new, so that no answer is known. Target: 5 ms.
"""

import argparse
import asyncio
import json
import os
import statistics
import time
from datetime import UTC, datetime
from typing import Final

from headgate.detectors.prepare import prepare
from headgate.judges.daily_budget import DailyBudgets
from headgate.judges.judge import Judges
from headgate.judges.model import Provider, ProviderKind
from headgate.judges.transport import open_client
from headgate.kernel.clock import system_clock
from headgate.nlp_policies.content import JudgedContent
from headgate.nlp_policies.evaluate import Evaluator
from headgate.nlp_policies.model import NlpDraft, NlpPolicy, NlpPolicyType, Outcome
from headgate.organizations.destinations import OperatorBounds

_PROVIDER_SECONDS: Final = 0.02
_SIZES: Final = (1024, 10 * 1024)
_NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)
_SENTENCE: Final = "We looked at the report and found nothing of interest in it, so please go on with the plan. "
_SAID: Final = {"flagged": False, "risk_score": 0.1, "confidence": 0.9, "detected_issues": [], "reasoning": "fine"}
_ANSWER: Final = json.dumps(
    {
        "choices": [{"message": {"content": json.dumps(_SAID)}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 300, "completion_tokens": 40},
    }
).encode()


class ModelStandIn:
    """``held_seconds``: from the last byte of each request to the first of its answer."""

    def __init__(self) -> None:
        self.held_seconds: list[float] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                await reader.readexactly(int(head.split(b"content-length:")[1].split(b"\r\n")[0]))
                began = time.perf_counter()
                await asyncio.sleep(_PROVIDER_SECONDS)
                self.held_seconds.append(time.perf_counter() - began)
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n")
                writer.write(b"content-length: %d\r\n\r\n%s" % (len(_ANSWER), _ANSWER))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()


def policy() -> NlpPolicy:
    draft = NlpDraft("p", NlpPolicyType.CUSTOM, provider="local", model="m", prompt="Nothing about whales.")
    return NlpPolicy("org_a", "nlp_1", 1, draft, _NOW, _NOW)


async def measure(evaluator: Evaluator, stand_in: ModelStandIn, provider: Provider, size: int, rounds: int) -> float:
    """Milliseconds beyond the provider's, median."""
    ours: list[float] = []
    for number in range(rounds + 10):
        content = f"{number} {size} {_SENTENCE * (size // len(_SENTENCE))}"
        before = len(stand_in.held_seconds)
        began = time.perf_counter()
        result = await evaluator.evaluate(policy(), JudgedContent(content), {"local": provider})
        took = time.perf_counter() - began
        assert result.outcome is Outcome.CLEAR, result.reasoning
        assert len(stand_in.held_seconds) == before + 1
        if number >= 10:
            ours.append(took - stand_in.held_seconds[-1])
    return statistics.median(ours) * 1000


async def run(rounds: int) -> None:
    prepare()
    stand_in = ModelStandIn()
    server = await asyncio.start_server(stand_in.serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    provider = Provider(ProviderKind.OPENAI_COMPATIBLE, f"http://127.0.0.1:{port}/v1", rules=OperatorBounds(None))
    async with open_client() as client:
        judges = Judges(client)
        evaluator = Evaluator(judges, DailyBudgets(system_clock))
        print(f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
        for size in _SIZES:
            print(f"{size // 1024} KB: {await measure(evaluator, stand_in, provider, size, rounds):.2f} ms of ours")
        await judges.close()
    server.close()
    await server.wait_closed()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=200)
    asyncio.run(run(parser.parse_args().rounds))


if __name__ == "__main__":
    main()
