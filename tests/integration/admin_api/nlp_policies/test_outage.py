"""Fifty tests of a policy at once, with a provider that hangs: deadlines hold, and the rest of the API answers."""

import asyncio
import json
import statistics
import time
from typing import Any

from headgate.judges.breaker import OPEN_SECONDS
from headgate.judges.model import DEADLINE_SECONDS
from tests.integration.admin_api.conftest import Gate
from tests.integration.outgoing.outage import Outage, failing_server, json_answer

_POLICY = {"name": "No deletions", "type": "custom", "provider": "local", "model": "m", "prompt": "Refuse deletions."}
_FINE = {"flagged": False, "risk_score": 0.1, "confidence": 0.9, "detected_issues": [], "reasoning": "Fine."}
_ANSWER = json_answer(
    json.dumps({"choices": [{"message": {"content": json.dumps(_FINE)}, "finish_reason": "stop"}]}).encode()
)


async def test_a_provider_that_hangs_keeps_nobody_beyond_the_deadline(gate: Gate) -> None:
    admin = gate.person()
    async with failing_server(_ANSWER) as server:
        setting = {"local": {"kind": "openai_compatible", "base_url": f"http://127.0.0.1:{server.port}/v1"}}
        assert (await admin.put("/admin/settings/nlp-providers", json=setting)).status_code == 200
        policy = (await admin.post("/admin/nlp-policies", json=_POLICY)).json()

        async def tested(number: int) -> tuple[float, dict[str, Any]]:
            began = time.monotonic()
            path = f"/admin/nlp-policies/{policy['id']}/test"
            answer = await admin.post(path, json={"content": f"hello {number}"}, timeout=60)
            return time.monotonic() - began, answer.json()

        async def health(until: asyncio.Future[Any]) -> list[float]:
            took = []
            while not until.done():
                began = time.monotonic()
                await admin.get("/health")
                took.append(time.monotonic() - began)
                await asyncio.sleep(0.05)
            return took

        await server.fail(Outage.SILENT)
        burst = asyncio.gather(*(tested(number) for number in range(50)))
        healths = await health(burst)
        results = await burst

        assert {answer["details"]["error"] for _, answer in results} <= {"timeout", "breaker_open"}
        assert {answer["decision"] for _, answer in results} == {"require_approval"}
        assert max(took for took, _ in results) < DEADLINE_SECONDS + 3  # 0.5 on an idle machine
        assert statistics.median(healths) < 0.1

        await server.fail(Outage.NONE)
        back = time.monotonic()
        while (await tested(-1))[1]["details"]["outcome"] != "clear":
            assert time.monotonic() - back < OPEN_SECONDS + 3
            await asyncio.sleep(0.1)
