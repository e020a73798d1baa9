"""The values of a call that may have been seen before, by their path: ``params.to``, ``params.items[0].iban``,
``params["a.b"]``, ``http.host``. Pure."""

import json
import re
from collections.abc import Container
from dataclasses import dataclass, field
from typing import Final

from headgate.kernel.canonical_json import JsonValue
from headgate.kernel.short_key_cache import short_key_cache
from headgate.protocols.draft import ActionDraft

VALUES_MAX: Final = 2_000
TEXT_MAX_BYTES: Final = 256 << 10
_PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9_$@-]+")
_DIGITS_MIN: Final = 100_000
"""A number below is a count or a year, and no account."""


@dataclass(frozen=True, slots=True)
class CallValues:
    """``is_complete``: not, where the call has more than are looked up. Paths are made for what was found only: they
    cost more than the look-up."""

    texts: list[str]
    is_complete: bool
    draft: ActionDraft = field(repr=False)

    def paths(self, found: Container[int]) -> dict[int, str]:
        """Of the texts at these positions."""
        paths: dict[int, str] = {}
        position = 0
        if self.draft.read_call is not None:
            paths = {at: name for at, name in enumerate(("http.host", "http.path")) if at in found}
            position = 2
        waiting: list[tuple[str, JsonValue]] = [("params", self.draft.params)]
        while waiting and position < len(self.texts):
            path, value = waiting.pop()
            if isinstance(value, dict):
                waiting.extend((path + step_of(name), inner) for name, inner in value.items())
            elif isinstance(value, list):
                waiting.extend((f"{path}[{at}]", inner) for at, inner in enumerate(value))
            elif _may_be_known(value):
                if position in found:
                    paths[position] = path
                position += 1
        return paths


@short_key_cache(1024)
def step_of(name: str) -> str:
    """The step of a path to this member. Two members never share a path: in ``{"a.to": …, "a": {"to": …}}`` one could
    vouch for the other. Bounded, as agents choose the names."""
    return f".{name}" if _PLAIN_NAME.fullmatch(name) is not None else f"[{json.dumps(name)}]"


def values_of(draft: ActionDraft) -> CallValues:
    """The texts and large numbers of ``params``, and the host and path of the call; in the order of ``paths``."""
    texts: list[str] = []
    if draft.read_call is not None:
        texts += (draft.read_call.call.host, draft.read_call.path)
    room = TEXT_MAX_BYTES
    waiting: list[JsonValue] = [draft.params]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            text = value
        elif isinstance(value, dict):
            waiting += value.values()
            continue
        elif isinstance(value, list):
            waiting += value
            continue
        elif _may_be_known(value):
            text = str(value)
        else:
            continue
        room -= len(text)
        if room < 0 or len(texts) >= VALUES_MAX:
            return CallValues(texts, False, draft)
        texts.append(text)
    return CallValues(texts, True, draft)


def _may_be_known(value: JsonValue) -> bool:
    return isinstance(value, str) or (isinstance(value, int) and abs(value) >= _DIGITS_MIN)
