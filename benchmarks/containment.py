"""How many attacks an instance contains, and how many ordinary calls it stops: ``python -m benchmarks.containment``.

An unmodified client sends each call of ``tests/labelled/calls_heldout*.jsonl``, or of the files that are named, through
a whole instance whose way out is a forward proxy that pretends to be the internet: every host exists, none is reached.
A call is contained when the gate refuses or holds it, or withholds the answer. Two set-ups are measured: what
``headgate up`` seeds (``default``), and the profile ``balanced`` with a policy that allows every method (``open``).
``--strict`` enables the profile ``strict`` in both; ``--show`` prints what was judged wrongly.
"""

import argparse
import ipaddress
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

import httpx

from tests.e2e.clients import Administrator, Agent
from tests.e2e.instance import Instance, running
from tests.e2e.waiting import wait_for
from tests.free_port import free_port
from tests.labelled.calls import DEFAULT_ANSWER, AgentCall, agent_calls

_HELD_OUT: Final = sorted((Path(__file__).parents[1] / "tests" / "labelled").glob("calls_heldout*.jsonl"))
_CALLS_EACH: Final = 60
_AT_ONCE: Final = 8
_EVERY_METHOD: Final = "package containment.every_method\n\nallow := true\n"
_FAILURE: Final = 500
_CUT: Final = "incomplete chunked read"
"""A stream that the gate cuts does not end as a whole one does."""


def built(client: httpx.Client, call: AgentCall) -> httpx.Request:
    content = None if call.body is None else call.body.encode()
    headers = {name: value for name, value in call.headers.items() if name.lower() != "content-length"}  # as it is
    headers["x-call-number"] = request_id(call)
    return client.build_request(call.method, call.url, headers=headers, content=content)


def request_id(call: AgentCall) -> str:
    """By which the pretended internet knows the answer."""
    return f"{call.part}-{call.number}"


def answer_of(call: AgentCall) -> dict[str, Any]:
    return {"status": call.status, "headers": call.answer_headers, "body": call.answer}


@contextmanager
def pretended_internet(folder: Path, listed: Sequence[AgentCall]) -> Iterator[tuple[str, Path]]:
    """(its address as a proxy, its root certificate)."""
    port, answers, state = free_port(), folder / "answers.json", folder / "mitmproxy"
    answers.write_text(json.dumps({request_id(one): answer_of(one) for one in listed}))
    addon = Path(__file__).with_name("pretended_internet.py")
    command = [str(Path(sys.executable).with_name("mitmdump")), "-q", "-p", str(port), "--set", f"confdir={state}"]
    command += ["--set", "connection_strategy=lazy", "--set", "upstream_cert=false", "-s", str(addon)]
    with (folder / "internet.log").open("wb") as log:
        process = subprocess.Popen(
            command, env={**os.environ, "HEADGATE_PRETENDED_ANSWERS": str(answers)}, stdout=log, stderr=log
        )
    try:
        roots = state / "mitmproxy-ca-cert.pem"
        wait_for(roots.exists, "the pretended internet is there", seconds=60)
        yield f"http://127.0.0.1:{port}", roots
    finally:
        process.terminate()
        process.wait(30)


def judged(agent: Agent, call: AgentCall) -> str:
    """``passed``, or with which words the gate stopped the call or withheld its answer.

    Raises RuntimeError for any other answer: a failure of the measurement is no containment.
    """
    with agent.client() as client:
        try:
            response = client.send(built(client, call))
        except httpx.ProxyError as error:
            return f"refused: {error}"
        except httpx.RemoteProtocolError as error:
            if _CUT not in str(error):
                raise
            return "the rest of the answer was withheld"
    if response.content == call.answer.encode() or (call.method == "HEAD" and response.status_code == call.status):
        return "passed"
    if _some_tools(response.content, call.answer.encode()):
        return "passed"
    if call.method == "HEAD":
        return f"refused: {response.status_code}"
    if "RESPONSE_WITHHELD" in response.text:
        return "the answer was withheld"
    try:
        said = json.loads(_of_event(response.text))["error"]
        code, message = said["code"], said["message"]
    except (ValueError, KeyError, TypeError) as failure:
        raise RuntimeError(f"call {call.number}: {response.status_code} {response.text[:200]}") from failure
    if response.status_code >= _FAILURE:
        raise RuntimeError(f"call {call.number}: {code} {message}")
    return f"{code}: {message}"


def _of_event(text: str) -> str:
    """What the only event of a stream says; anything else as it is."""
    return text.partition("data: ")[2].partition("\n")[0] if text.startswith(("event: ", "data: ")) else text


def _some_tools(received: bytes, sent: bytes) -> bool:
    """Whether a list of tools arrived without those that would be denied. Which one is an attack's, nobody says here:
    as long as one is left, nothing is contained."""
    try:
        left, listed = (json.loads(one)["result"]["tools"] for one in (received, sent))
    except (ValueError, KeyError, TypeError):
        return False
    return bool(left) and all(one in listed for one in left)


def measure(administrator: Administrator, instance: Instance, listed: Sequence[AgentCall], *, show: bool) -> None:
    """Uses a new agent for every ``_CALLS_EACH`` calls: an agent may have at most 100 open approvals."""
    counts: Counter[tuple[bool, str, bool]] = Counter()
    began = time.perf_counter()
    for first in range(0, len(listed), _CALLS_EACH):
        agent = Agent(instance, key=administrator.new_agent(f"agent {time.monotonic_ns()}")["api_key"]["key"])
        some = listed[first : first + _CALLS_EACH]
        with closing(agent), ThreadPoolExecutor(_AT_ONCE) as pool:
            for call, found in zip(some, pool.map(partial(judged, agent), some), strict=True):
                contained = found != "passed"
                counts[call.attack, call.family, contained] += 1
                if show and contained != call.attack:
                    said = found if contained else call.about
                    answer = call.answer if call.answer != DEFAULT_ANSWER["body"] else ""
                    sent = f"{call.method} {call.url} {call.body or ''}"
                    print(f"  {call.number} {call.family}: {said} | {sent[:400]!r} | {answer[:300]!r}")
        if sys.stderr.isatty():
            sys.stderr.write(f"\r{first + len(some)} of {len(listed)}, {time.perf_counter() - began:.0f} s ")
    for attack, title in ((True, "contained"), (False, "stopped although ordinary")):
        of = {family: [counts[attack, family, yes] for yes in (True, False)] for _, family, _ in counts}
        stopped, total = sum(one[0] for one in of.values()), sum(map(sum, of.values()))
        print(f"  {title}: {stopped / max(1, total):.3f} of {total}")
        for family, (yes, no) in sorted(of.items()):
            if yes + no:
                print(f"    {family}: {yes} of {yes + no}")


def _mirrored(listed: Sequence[AgentCall]) -> list[str]:
    """Hosts that this machine's own resolver sends to a mirror with a reserved address, which is none of theirs."""
    mirrored = []
    for host in sorted({httpx.URL(one.url).raw_host.decode("ascii") for one in listed}):
        with suppress(OSError):
            address = ipaddress.ip_address(socket.getaddrinfo(host, 443)[0][4][0])
            if not address.is_global and not host.replace(".", "").isdigit() and host != "localhost":
                mirrored.append(host)
    return mirrored


def enable(instance: Instance, profile: str) -> None:
    done = instance.try_subcommand("policy", "enable", profile)
    if done.returncode:
        raise RuntimeError(done.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, default=_HELD_OUT)
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("--setup", choices=("default", "open"), action="append")
    given = parser.parse_args()
    listed = [one for path in given.files for one in agent_calls(path)]
    with tempfile.TemporaryDirectory() as name, pretended_internet(Path(name), listed) as (proxy_url, roots):
        settings = {
            "HEADGATE_UPSTREAM_PROXY_URL": proxy_url,
            "HEADGATE_UPSTREAM_PROXY_RESOLUTION": "proxy",
            "HEADGATE_HOLD_SECONDS": "1",
            "HEADGATE_PROXY_WORKERS": "1",
        }
        folder = Path(name, "instance")
        folder.mkdir()
        with running(folder, roots, **settings) as instance, closing(Administrator(instance)) as administrator:
            administrator.allow_destinations(*({"host": one, "private": True} for one in _mirrored(listed)))
            for setup in given.setup or ("default", "open"):
                if setup == "open":
                    administrator.add_policy(_EVERY_METHOD, priority=400)
                    enable(instance, "balanced")
                if given.strict:
                    enable(instance, "strict")
                print(f"{setup}{', strict' if given.strict else ''}:")
                measure(administrator, instance, listed, show=given.show)


if __name__ == "__main__":
    main()
