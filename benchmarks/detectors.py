"""What looking for secrets, personal data and instructions costs, decoding included, and how long hostile input takes.

``python -m benchmarks.detectors`` prints the median of repeated runs in milliseconds of the thread's own processor time
(detectors wait for nothing, and what else a machine does is not theirs), and for 50 KB of each kind of hostile input
the time in a worker thread with the longest pause of the event loop.
Before them, what the request policies of the profile ``balanced`` take for a call: median and least, as a busy machine
slows the rounds beside it. Targets: 0.4 and 8 ms for calls of 4 and 100 KB; 0.6, 6 and 60 ms for texts of 1, 10 and
100 KB; hostile: 1 s, the loop never stopped for 100 ms.
"""

import asyncio
import json
import os
import platform
import statistics
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from headgate.detectors.commands import find_commands
from headgate.detectors.host_names import find_host_names
from headgate.detectors.injection import find_injections
from headgate.detectors.inspect import Detector, inspect
from headgate.detectors.limits import Limits
from headgate.detectors.personal_data import find_personal_data
from headgate.detectors.secrets import find_secrets
from headgate.gate.judged_content import judged_content
from headgate.kernel.canonical_json import JsonValue
from headgate.nlp_policies.content import JudgedContent
from headgate.nlp_policies.detector_round import DetectorRound
from headgate.nlp_policies.model import Direction, NlpPolicy
from headgate.nlp_policies.templates import draft_of_template, templates
from headgate.protocols.http_call import HttpCall
from headgate.tools.interpret import interpret
from headgate.tools.load import load_catalogues
from tests.labelled.fill import read
from tests.labelled.hostile import hostile_texts

_SIZES = (1024, 10 * 1024, 100 * 1024)
_CALLS = {"GET": 0, "POST of 4 KB": 4 * 1024, "POST of 100 KB": 100 * 1024}
_DETECTORS: dict[str, list[Detector]] = {
    "secrets": [find_secrets],
    "pii": [find_personal_data],
    "both": [find_secrets, find_personal_data],
    "injection": [find_injections],
    "commands": [find_commands],
    "host names": [find_host_names],
    "balanced": [find_secrets, find_commands, find_host_names],
}


def ordinary_texts() -> dict[str, str]:
    """Mails with personal data here and there, forms with nothing else, source code, and JSON of many small values."""
    labelled = [text.text for text in read("pii_development")]
    filler = "We looked at the report and found nothing of interest in it, so please go on with the plan.\n" * 3
    code = Path(__file__).read_text("utf-8")
    items = [{"id": number, "name": f"item {number}", "tags": ["a", "b"], "note": "nothing"} for number in range(3000)]
    return {"mails": filler.join(labelled), "forms": "\n\n".join(labelled), "source": code, "json": json.dumps(items)}


def sized(text: str, size: int, kind: str) -> JsonValue:
    if kind == "json":
        return json.loads(text)[: size // 62]  # type: ignore[no-any-return]
    return (text * (size // len(text) + 1))[:size]


def milliseconds(value: JsonValue, detectors: Sequence[Detector], rounds: int = 15) -> float:
    limits = Limits(seconds_max=9)
    inspect(value, detectors, limits)
    times = []
    for _ in range(rounds):
        started = time.thread_time()
        inspect(value, detectors, limits)
        times.append(time.thread_time() - started)
    return statistics.median(times) * 1000


def call(size: int) -> JudgedContent:
    """A call as the proxy builds it: of JSON, tickets with a sentence, a date, an address; without a body, a GET."""
    text = "The customer asked on Monday whether the order can be delivered to another address before Friday."
    ticket = {"title": text[:40], "description": text, "status": "open", "assignee": {"name": "anna", "id": "usr_4711"}}
    tickets = [
        {**ticket, "id": number, "createdAt": "2026-11-28T10:15:00Z", "url": f"https://shop.example.com/items/{number}"}
        for number in range(size // 290)
    ]
    body = json.dumps({"items": tickets}).encode() if tickets else b""
    fields = {"host": "api.example.com", "accept": "*/*", "authorization": "Bearer 8fa7sd6f87asd6f87sd6f"}
    fields |= {"content-type": "application/json"} if body else {}
    named = tuple((name.encode(), value.encode()) for name, value in fields.items())
    method, path, query = ("POST", "/v1/tickets", "") if body else ("GET", "/v1/tickets", "limit=20&sort=-created")
    http = HttpCall(method, "https", "api.example.com", 443, path, query, named, body)
    return judged_content(interpret(http, load_catalogues()))


def call_milliseconds(content: JudgedContent, rounds: int = 40) -> tuple[float, float]:
    """Of processor time, the median and the least."""
    now = datetime.now(UTC)
    policies = [
        NlpPolicy("org", one.template_id, 1, draft_of_template(one), now, now)
        for one in templates()
        if "balanced" in one.profiles and one.scope.direction is Direction.REQUEST
    ]
    times = []
    for _ in range(rounds):
        asked = DetectorRound(policies, content)
        started = time.thread_time()
        asked.ask_for(9)
        times.append((time.thread_time() - started) * 1000)
    return statistics.median(times), min(times)


async def hostile(text: str) -> tuple[float, float, int]:
    """Seconds in a thread, the longest pause of the loop in milliseconds, and the gaps."""
    pauses = [0.0]
    done = asyncio.Event()

    async def beat() -> None:
        last = time.perf_counter()
        while not done.is_set():
            await asyncio.sleep(0.001)
            now = time.perf_counter()
            pauses.append(now - last)
            last = now

    beating = asyncio.create_task(beat())
    started = time.perf_counter()
    result = await asyncio.to_thread(inspect, text, _DETECTORS["both"])
    elapsed = time.perf_counter() - started
    done.set()
    await beating
    return elapsed, max(pauses) * 1000, len(result.gaps)


def main() -> None:
    print(f"{platform.machine()}, Python {platform.python_version()}, load {os.getloadavg()[0]:.2f}; median ms")
    texts = ordinary_texts()
    for text in texts.values():  # automata keep the states that they make: after one call alone it looks cheaper
        inspect(text, [one for each in _DETECTORS.values() for one in each], Limits(seconds_max=9))
    for kind, size in _CALLS.items():
        median, least = call_milliseconds(call(size))
        print(f"{kind:<15}{median:>8.2f} median{least:>8.2f} least")
    print(f"\n{'text':<10}{'detectors':<11}" + "".join(f"{size // 1024:>8} KB" for size in _SIZES))
    for kind, text in texts.items():
        for name, detectors in _DETECTORS.items():
            row = [milliseconds(sized(text, size, kind), detectors) for size in _SIZES]
            print(f"{kind:<10}{name:<11}" + "".join(f"{one:>11.2f}" for one in row))
    print(f"\n{'hostile, 50 KB':<28}{'s':>8}{'loop ms':>9}{'gaps':>6}")
    for kind, text in hostile_texts(50 * 1024).items():
        elapsed, pause, gaps = asyncio.run(hostile(text))
        print(f"{kind:<28}{elapsed:>8.3f}{pause:>9.1f}{gaps:>6}")


if __name__ == "__main__":
    main()
