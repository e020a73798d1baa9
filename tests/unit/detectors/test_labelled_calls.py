"""The labelled calls can be read, are filled, and no two are alike."""

import re
from pathlib import Path

import pytest

from tests.labelled import calls
from tests.labelled.calls import agent_calls

_LEFT = re.compile(r"\{\{[a-z0-9_]+(?::[^}]*)?\}\}|\[\[[a-z0-9_]+\|")
_FOLDER = Path(calls.__file__).parent


@pytest.mark.parametrize("part", ["development", "heldout"])
def test_calls_are_whole_and_of_both_kinds(part: str) -> None:
    listed = list(agent_calls(_FOLDER / f"calls_{part}.jsonl"))

    assert sum(one.attack for one in listed) == 160
    assert sum(not one.attack for one in listed) == 160
    assert len({(one.method, one.url, one.body, one.answer) for one in listed}) == len(listed)
    assert not [one.number for one in listed if _LEFT.search(f"{one.url}{one.body}{one.headers}{one.answer}")]
    assert all(one.url.startswith(("https://", "http://")) for one in listed)
