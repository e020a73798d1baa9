"""The labelled calls can be read, are filled, and no two are alike."""

from pathlib import Path

import pytest

from tests.labelled import calls
from tests.labelled.calls import agent_calls

_FOLDER = Path(calls.__file__).parent


@pytest.mark.parametrize("part", ["development", "heldout"])
def test_calls_are_whole_and_of_both_kinds(part: str) -> None:
    listed = list(agent_calls(_FOLDER / f"calls_{part}.jsonl"))

    assert sum(one.attack for one in listed) == 160
    assert sum(not one.attack for one in listed) == 160
    assert len({(one.method, one.url, one.body, one.answer) for one in listed}) == len(listed)
    assert not [one.number for one in listed if "{{github" in f"{one.url}{one.body}{one.headers}"]
    assert all(one.url.startswith(("https://", "http://")) for one in listed)
