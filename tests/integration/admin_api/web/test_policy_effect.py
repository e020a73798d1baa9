"""The effect of a draft on recorded calls: found out in the background, and shown as it comes."""

import asyncio
import html
import re

import pytest

from admin_api.services import replay_runs
from headgate.kernel.errors import UnavailableError
from headgate.workflows.replay_policy import ReplayPolicy

_REFUSE = 'package a\n\ndeny contains "no" if input.tool == "write"\n'
_FORM = {"act": "replay", "span": "1", "name": "Refuse", "priority": "1", "mode": "enforce", "rego_policy": _REFUSE}
_EFFECT = "/policies/effect"
_DONE = "1 calls evaluated again, 1 with a different decision"


async def _called(gate) -> str:
    body = {"tool": "write", "operation": "line", "params": {"text": "red"}}
    return str((await gate.as_agent.post("/v1/actions", json=body)).json()["id"])


def _text(page: str) -> str:
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", page)))


async def _ended(person, page: str) -> str:
    """Reads the page that the part names, as its script does after each event."""
    for _ in range(60):
        address = re.search(r'data-page="([^"]+)"', page)
        if address is None:
            return page
        await asyncio.sleep(0.2)
        page = (await person.get(html.unescape(address[1]))).text
    raise AssertionError(page)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A replay takes longer than a page waits for it."""
    run = ReplayPolicy.run

    async def later(self: ReplayPolicy, *given):
        await asyncio.sleep(2.5)
        async for found in run(self, *given):
            yield found

    monkeypatch.setattr(ReplayPolicy, "run", later)


async def test_a_long_replay_is_followed_to_its_end(gate, slow: None) -> None:
    await _called(gate)
    person = gate.person()
    begun = (await person.post("/policies/new", data=_FORM)).text
    assert "calls evaluated again. You can go on editing" in _text(begun)
    ended = await _ended(person, begun)
    assert _DONE in _text(ended) and "write.line" in ended
    assert _DONE in _text((await person.get(_EFFECT)).text)
    other = (await gate.person("bo").get(_EFFECT)).text
    assert "No replay yet" in other


async def test_another_replay_ends_the_first(gate, slow: None) -> None:
    await _called(gate)
    person = gate.person()
    first = (await person.post("/policies/new", data=_FORM)).text
    second = (await person.post("/policies/new", data=_FORM)).text
    assert "It ended this one" in _text(await _ended(person, first))
    assert _DONE in _text(await _ended(person, second))


async def test_two_people_wait_for_each_other(gate) -> None:
    await _called(gate)
    people = [gate.person(one) for one in ("ana", "bo")]
    begun = await asyncio.gather(*(one.post("/policies/new", data=_FORM) for one in people))
    for person, answer in zip(people, begun, strict=True):
        assert _DONE in _text(await _ended(person, answer.text))


async def test_what_cannot_be_finished_says_why(gate, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(self: ReplayPolicy, *given):
        raise UnavailableError("the child has died")
        yield

    monkeypatch.setattr(ReplayPolicy, "run", fail)
    answer = await gate.person().post("/policies/new", data=_FORM)
    assert "the child has died" in _text(answer.text) and "data-page" not in answer.text


async def test_a_process_that_ended_is_not_waited_for(gate, slow: None, superuser, monkeypatch) -> None:
    monkeypatch.setattr(replay_runs, "_TELL_SECONDS", 60)
    person = gate.person()
    begun = (await person.post("/policies/new", data=_FORM)).text
    superuser.execute("UPDATE policy_replay_runs SET told_at = now() - interval '1 minute'")
    shown = (await person.get(_EFFECT)).text
    assert "The process ended before the replay did" in _text(shown) and "data-page" not in shown
    await _ended(person, begun)


async def test_a_draft_from_a_call_shows_its_tests_and_effect(gate) -> None:
    action_id = await _called(gate)
    person = gate.person()
    shown = (await person.get(f"/policies/new?from={action_id}&decision=deny")).text
    assert "Tests Passed" in _text(shown)
    assert _DONE in _text(await _ended(person, shown))
