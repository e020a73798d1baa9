"""A credential that is cut into pieces is found where the pieces meet."""

import base64
import itertools
from types import SimpleNamespace

import pytest
from redis.asyncio import Redis

from headgate.detectors.decode import document_of, joined_document_of
from headgate.detectors.limits import DEFAULT_LIMITS, Budget
from headgate.gate.judge_content import ContentJudge
from headgate.gate.pipeline import recall_nothing
from headgate.judges.daily_budget import DailyBudgets
from headgate.judges.judge import Judges
from headgate.judges.transport import open_client
from headgate.kernel.canonical_json import JsonValue
from headgate.kernel.clock import system_clock
from headgate.kernel.sealing import Seal
from headgate.kernel.secrets import Secret
from headgate.nlp_policies import shared_requests
from headgate.nlp_policies.evaluate import Evaluator
from headgate.nlp_policies.model import NlpDraft, NlpPolicy, NlpPolicyType
from headgate.nlp_policies.request_window import (
    AGENT_CHARACTERS_MAX,
    ORGANIZATION_AGENTS_MAX,
    REQUESTS_MAX,
    WINDOW_SECONDS,
    RequestWindows,
)
from headgate.nlp_policies.shared_requests import SharedRequests
from headgate.outgoing.client import OutgoingClient
from headgate.policies.model import Decision, RiskLevel, Verdict
from headgate.protocols.http_call import HttpCall
from headgate.tools.interpret import interpret
from headgate.tools.load import load_catalogues
from tests.unit.gate.test_judged_locations import _NOW, SECRET, call, form, json_call, judged

_PARTS = [SECRET[:9], SECRET[9:20], SECRET[20:31], SECRET[31:]]
_LATER = itertools.count()
_ENCODED = base64.b64encode(SECRET.encode()).decode()

FIELDS = {
    "members": json_call({"note": "hello", "a": _PARTS[0], "b": _PARTS[1], "c": _PARTS[2], "d": _PARTS[3]}),
    "a list": json_call({"chunks": _PARTS}),
    "objects": json_call([{"id": f"x{number}", "data": part} for number, part in enumerate(_PARTS)]),
    "numbered": json_call({f"part{number}": part for number, part in enumerate(_PARTS)} | {"note": "hello"}),
    "numbered, others between": json_call(
        [one for number, part in enumerate(_PARTS) for one in ({f"p{number}": part}, {f"kind{number}": "text here"})]
    ),
    "ends of sentences": json_call(
        [
            f"We asked the people of the warehouse for the first part, and it is {_PARTS[0]}",
            *_PARTS[1:3],
            f"{_PARTS[3]} is what they gave us in the end, and that was all of it for today.",
        ]
    ),
    "base64": json_call({"chunks": [_ENCODED[at : at + 10] for at in range(0, len(_ENCODED), 10)]}),
    "hexadecimal of one letter": json_call({"h": [f"{ord(one):02x}" for one in SECRET]}),
    "query": call(query="&".join(f"q{number}={part}" for number, part in enumerate(_PARTS))),
    "cookies": call(("Cookie", "; ".join(f"c{number}={part}" for number, part in enumerate(_PARTS)))),
    "headers": call(*((f"X-Part-{number}", part) for number, part in enumerate(_PARTS))),
    "path": call(path="/a/" + "/".join(_PARTS)),
    "host labels": call(host=f"{SECRET.encode().hex()[:50]}.{SECRET.encode().hex()[50:]}.example.com"),
    "parts": form(*((f'name="p{number}"', part.encode()) for number, part in enumerate(_PARTS))),
}


@pytest.mark.parametrize("how", FIELDS)
async def test_pieces_in_the_fields_of_one_request_are_read_together(how: str) -> None:
    assert (await judged(FIELDS[how])).issues == ("github_token",)


async def test_a_piece_that_another_beginning_reaches_into_begins_a_credential() -> None:
    """``abi`` and ``AKIA``: ``ABIA`` begins another kind of key."""
    key = "AKIA" + "Q3EGRT7ZW2XNV5LD"
    sent = json_call({"chunks": ["xabi", key[:9], key[9:], "tail"]})

    assert "aws_access_key_id" in (await judged(sent)).issues


def test_sentences_cost_no_more_read_together_than_alone() -> None:
    """ "sk" within "asked" begins no credential, and the middle of a sentence goes on in no other text."""
    asked = "The customer asked for a refund of the second item, and the task was dusk to dawn risky work for us all."
    document = document_of([{"note": asked, "name": "asked"} for _ in range(60)], Budget(DEFAULT_LIMITS))

    joined = joined_document_of([document], (), Budget(DEFAULT_LIMITS))

    assert joined.size < document.size


async def test_numbers_side_by_side_are_no_personal_data() -> None:
    sent = json_call({"digits": ["4111", "1111", "1111", "1111"], "parts": ["030", "1234", "567"]})

    assert (await judged(sent, model="pii", type=NlpPolicyType.PII_DETECTION)).issues == ()


class _Agent:
    """Sends calls to one decision point; ``seconds`` is its clock."""

    def __init__(self, client: OutgoingClient, shared: SharedRequests | None = None) -> None:
        self.seconds = 0.0
        evaluator = Evaluator(Judges(client), DailyBudgets(system_clock), deadline_seconds=30)
        self._judge = ContentJudge(evaluator, lambda: self.seconds + next(_LATER) / 1e6, shared)
        draft = NlpDraft("No secrets", NlpPolicyType.CONTENT_SAFETY, model="secrets", threshold=0.6)
        self._policy = NlpPolicy("org_1", "nlp_1", 1, draft, _NOW, _NOW)

    async def sends(self, sent: HttpCall, agent_id: str = "agt_1", org_id: str = "org_1") -> Verdict:
        draft = interpret(sent, load_catalogues())
        state = SimpleNamespace(org_id=org_id, nlp_policies=(self._policy,), nlp_providers={})
        candidate = SimpleNamespace(agent_id=agent_id, draft=draft, digest=repr(sent).encode(), arrived=None)
        rules = Decision(Verdict.ALLOW, "a rule", RiskLevel.LOW, "pol_1", 0.1)
        return (await self._judge.tightened(state, candidate, rules, recall_nothing)).verdict


@pytest.fixture
async def agent():
    async with open_client() as client:
        yield _Agent(client)


CALLS = {
    "query": [call(query=f"d={part}") for part in _PARTS],
    "path": [call(path=f"/log/{part}") for part in _PARTS],
    "json": [json_call({"id": f"n{number}", "data": part}) for number, part in enumerate(_PARTS)],
    "header": [call(("X-Note", part)) for part in _PARTS],
    "cookie": [call(("Cookie", f"a={part}")) for part in _PARTS],
    "other names": [json_call({f"field{number}": part}) for number, part in enumerate(_PARTS)],
    "base64": [json_call({"d": _ENCODED[at : at + 14]}) for at in range(0, len(_ENCODED), 14)],
    "text": [call(("Content-Type", "text/plain"), body=part.encode()) for part in _PARTS],
}


@pytest.mark.parametrize("how", CALLS)
async def test_pieces_in_several_requests_are_read_together(agent: _Agent, how: str) -> None:
    *before, last = CALLS[how]

    assert [await agent.sends(one) for one in before] == [Verdict.ALLOW] * len(before)
    assert await agent.sends(last) is Verdict.REQUIRE_APPROVAL


async def test_after_it_was_stopped_other_requests_pass(agent: _Agent) -> None:
    for one in CALLS["query"]:
        await agent.sends(one)

    assert await agent.sends(CALLS["query"][-1]) is Verdict.REQUIRE_APPROVAL
    assert await agent.sends(call(query="d=nothing")) is Verdict.ALLOW


async def test_what_was_sent_before_does_not_hide_the_first_piece(agent: _Agent) -> None:
    for one in (call(query="d=hello"), call(query="d=world"), *CALLS["query"][:-1]):
        assert await agent.sends(one) is Verdict.ALLOW
    assert await agent.sends(CALLS["query"][-1]) is Verdict.REQUIRE_APPROVAL


async def test_a_retry_is_one_request(agent: _Agent) -> None:
    first, second, third, last = CALLS["query"]
    for one in (first, first, second, second, second, third):
        assert await agent.sends(one) is Verdict.ALLOW
    assert await agent.sends(last) is Verdict.REQUIRE_APPROVAL


async def test_other_agents_and_a_later_time_have_nothing_to_do_with_it(agent: _Agent) -> None:
    *before, last = CALLS["query"]
    for one in before:
        await agent.sends(one)

    assert await agent.sends(last, agent_id="agt_2") is Verdict.ALLOW
    assert await agent.sends(last, org_id="org_2") is Verdict.ALLOW
    agent.seconds = WINDOW_SECONDS + 1.0
    assert await agent.sends(last) is Verdict.ALLOW


@pytest.fixture
async def processes(valkey_url: str):
    """Two that share a Valkey."""
    async with open_client() as client, Redis.from_url(valkey_url) as valkey:
        await valkey.flushdb()
        yield [_Agent(client, SharedRequests(valkey, Secret("postgresql://of-the-gate"))) for _ in range(2)]


@pytest.mark.parametrize("how", CALLS)
async def test_pieces_through_several_processes_are_read_together(processes: list[_Agent], how: str) -> None:
    *before, last = CALLS[how]

    said = [await processes[number % 2].sends(one) for number, one in enumerate(before)]
    assert said == [Verdict.ALLOW] * len(before)
    assert await processes[len(before) % 2].sends(last) is Verdict.REQUIRE_APPROVAL
    assert await processes[0].sends(call(query="d=nothing")) is Verdict.ALLOW


async def test_what_is_told_again_is_opened_once_and_not_kept_for_ever(
    processes: list[_Agent], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[bytes] = []
    really = Seal.open
    monkeypatch.setattr(Seal, "open", lambda seal, sealed, name: opened.append(sealed) or really(seal, sealed, name))
    monkeypatch.setattr(shared_requests, "_OPENED_MAX", 12)
    for number in range(30):
        assert await processes[number % 2].sends(call(query=f"page={number}")) is Verdict.ALLOW
    assert all(len(one._shared._opened) == 12 for one in (agent._judge for agent in processes))  # type: ignore[union-attr]
    monkeypatch.setattr(shared_requests, "_OPENED_MAX", 100)
    for number in range(REQUESTS_MAX):
        await processes[0].sends(call(query=f"page={100 + number}"))
    opened.clear()
    await processes[0].sends(call(query="page=200"))
    assert opened == []  # its own requests it knows
    await processes[1].sends(call(query="page=201"))
    await processes[0].sends(call(query="page=202"))
    assert len(opened) == REQUESTS_MAX + 1


async def test_a_process_that_has_lost_its_window_is_told_all_of_it(processes: list[_Agent]) -> None:
    *before, last = CALLS["query"]
    for one in before:
        await processes[0].sends(one)
    for number in range(2 * ORGANIZATION_AGENTS_MAX):
        processes[0]._judge._windows.enter(
            "org_1", f"agt_other{number}", RequestWindows(lambda: 1.0).read("1", {"body": "x"})
        )
    assert await processes[0].sends(last) is Verdict.REQUIRE_APPROVAL


async def test_valkey_keeps_nothing_that_can_be_read(processes: list[_Agent], valkey_url: str) -> None:
    await processes[0].sends(json_call({"data": _PARTS[0]}))
    async with Redis.from_url(valkey_url) as valkey:
        [name] = [one async for one in valkey.scan_iter("headgate:requests:*")]
        [sealed] = await valkey.lrange(name, 0, -1)
        assert _PARTS[0].encode() not in sealed
        assert 0 < await valkey.ttl(name) <= WINDOW_SECONDS
        # What is of nobody, or was moved from another agent's list, is not read.
        await valkey.rpush(name.replace(b"agt_1", b"agt_2"), sealed, b"short", bytes(100))
    *_, last = CALLS["json"]
    assert await processes[1].sends(last, agent_id="agt_2") is Verdict.ALLOW


async def test_without_valkey_a_process_goes_on_alone() -> None:
    """Nothing listens there: each process reads what went through itself, and nothing waits for longer than once."""
    async with open_client() as client, Redis.from_url("redis://127.0.0.1:1") as nowhere:
        alone = _Agent(client, SharedRequests(nowhere, Secret("postgresql://of-the-gate")))
        *before, last = CALLS["query"]
        assert [await alone.sends(one) for one in before] == [Verdict.ALLOW] * len(before)
        assert await alone.sends(last) is Verdict.REQUIRE_APPROVAL


def test_a_window_is_bounded() -> None:
    windows = RequestWindows(lambda: 1.0)
    for number in range(3 * REQUESTS_MAX):
        body: JsonValue = {"body": {f"m{one}": f"{number}" * 300 for one in range(200)}}
        windows.enter("org_1", "agt_1", windows.read(str(number), body))
    [kept] = windows._agents.values()
    assert len(kept) == 1 or sum(one.characters for one in kept) <= AGENT_CHARACTERS_MAX
    assert len(kept) <= REQUESTS_MAX

    windows.enter("org_2", "agt_9", windows.read("1", {"body": "x"}))
    for number in range(2 * ORGANIZATION_AGENTS_MAX):
        windows.enter("org_1", f"agt_{number}", windows.read("1", {"body": "x"}))
    assert len(windows._agents) == ORGANIZATION_AGENTS_MAX + 1
    assert ("org_2", "agt_9") in windows._agents
