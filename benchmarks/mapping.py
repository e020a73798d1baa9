"""What one intercepted call costs before policies run: draft, digest, mask, Rego input.

``python -m benchmarks.mapping`` prints microseconds of CPU, the least of repeated runs. Targets:
40 µs for a GET without a body, 90 µs for a POST of 4 KB of JSON (30 objects, or mostly one text).
"""

import json
import platform
import time
import timeit
from collections.abc import Callable

from headgate.actions.digest import action_digest
from headgate.actions.masking import mask
from headgate.actions.recorded_request import recorded_request
from headgate.actions.rego_input import rego_input
from headgate.protocols.draft import ActionDraft
from headgate.protocols.http_call import HttpCall
from headgate.tools.interpret import interpret
from headgate.tools.load import load_catalogues

_HEADERS = (
    (b"Host", b"api.github.com"),
    (b"User-Agent", b"agent/1.0"),
    (b"Accept", b"application/vnd.github+json"),
    (b"Accept-Encoding", b"gzip, deflate, br"),
    (b"Connection", b"keep-alive"),
    (b"Authorization", b"Bearer abcdefghijklmnop"),
)
_AGENT = "agt_01932c07-209c-7000-8000-000000000000"
_ORG = "org_01932c07-209c-7000-8000-000000000000"
_ROUNDS, _CALLS = 7, 2_000


def _calls() -> dict[str, HttpCall]:
    note = "some words that say nothing " * 3
    items = [{"id": number, "name": f"item {number}", "tags": ["a", "b"], "note": note} for number in range(30)]
    body = json.dumps({"title": "A title", "body": "A text of some length", "items": items}).encode()
    text = json.dumps({"title": "A title", "body": "some words that say nothing " * 158}).encode()
    post = (*_HEADERS, (b"Content-Type", b"application/json"), (b"Content-Length", b"%d" % len(body)))
    return {
        "GET, catalogue": HttpCall(
            "GET", "https", "api.github.com", 443, "/repos/acme/app/issues/5", "", _HEADERS, b""
        ),
        "GET, generic": HttpCall("GET", "https", "api.example.com", 443, "/v1/items/5", "page=2", _HEADERS, b""),
        f"POST {len(body)} B, catalogue": HttpCall(
            "POST", "https", "api.github.com", 443, "/repos/acme/app/issues", "", post, body
        ),
        f"POST {len(text)} B of text": HttpCall(
            "POST", "https", "api.github.com", 443, "/repos/acme/app/issues", "", post, text
        ),
        f"POST {len(body)} B, generic": HttpCall("POST", "https", "api.example.com", 443, "/v1/items", "", post, body),
    }


def _microseconds(run: Callable[[], object]) -> float:
    return min(timeit.repeat(run, timer=time.process_time, number=_CALLS, repeat=_ROUNDS)) / _CALLS * 1e6


def main() -> None:
    catalogue = load_catalogues()
    print(f"{platform.machine()}, Python {platform.python_version()}; µs for each call")
    print(f"{'call':<26}{'draft':>8}{'digest':>8}{'input':>8}{'record':>8}{'(mask)':>8}{'sum':>8}")
    for name, call in _calls().items():
        draft: ActionDraft = interpret(call, catalogue)
        record = recorded_request(draft)
        draft_us = _microseconds(lambda call=call: interpret(call, catalogue))  # type: ignore[misc] # bound now
        digest_us = _microseconds(lambda draft=draft: action_digest(draft, org_id=_ORG, agent_id=_AGENT))  # type: ignore[misc]
        input_us = _microseconds(lambda draft=draft: rego_input(draft, agent_id=_AGENT, agent_name="b"))  # type: ignore[misc]
        record_us = _microseconds(lambda draft=draft: recorded_request(draft))  # type: ignore[misc]
        mask_us = _microseconds(lambda record=record: mask(record))  # type: ignore[misc]
        total = draft_us + digest_us + input_us + record_us
        print(f"{name:<26}{draft_us:8.1f}{digest_us:8.1f}{input_us:8.1f}{record_us:8.1f}{mask_us:8.1f}{total:8.1f}")


if __name__ == "__main__":
    main()
