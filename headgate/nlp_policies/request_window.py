"""What an agent has sent lately, so that a credential that it sends piece by piece is read in one piece.

Of each request the short texts by their place, the same place over several requests joined; and all of a request's
payload, joined with that of the requests before. Bounded for each agent, each organization and the process. What
other processes know comes from ``headgate.nlp_policies.shared_requests``.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from itertools import islice
from typing import Final

from msgspec import Struct, field
from regorus import edges_of

from headgate.detectors.document import JoinedText
from headgate.kernel.canonical_json import JsonValue

WINDOW_SECONDS: Final = 600
REQUESTS_MAX: Final = 16
AGENT_CHARACTERS_MAX: Final = 16_384
ORGANIZATION_AGENTS_MAX: Final = 128
PROCESS_AGENTS_MAX: Final = 2048
_TEXT_MAX: Final = 256
_PLACES_MAX: Final = 64
_PLACE_CHARACTERS_MAX: Final = 128
_VISITED_MAX: Final = 2000
_NOT_SENT: Final = frozenset(("tool", "operation", "context", "delegation"))
_ABOUT_THE_CALL: Final = frozenset(("method", "scheme", "port", "body_sha256", "body_kind"))
_ALL: Final = "*"

type _Texts = dict[str, str]


class Sent(Struct, frozen=True):
    """The short texts of a request by their place. ``at`` in seconds; ``key``: a retry has that of the first try."""

    at: float
    key: str
    texts: _Texts

    @property
    def characters(self) -> int:
        return sum(map(len, self.texts.values()))


class RequestWindows(Struct):
    """``clock`` in seconds, the same for all processes."""

    clock: Callable[[], float]
    _agents: "OrderedDict[tuple[str, str], list[Sent]]" = field(default_factory=OrderedDict)

    def read(self, key: str, value: JsonValue) -> Sent:
        return Sent(self.clock(), key, texts_by_place(value))

    def knows(self, org_id: str, agent_id: str) -> bool:
        """Whether the agent has a window here, which holds what it has sent through this process."""
        return (org_id, agent_id) in self._agents

    def enter(self, org_id: str, agent_id: str, sent: Sent, elsewhere: Sequence[Sent] = ()) -> tuple[JoinedText, ...]:
        """What this request makes together with those before it, ``elsewhere`` through other processes."""
        texts, since = sent.texts, sent.at - WINDOW_SECONDS
        known = {one.key: one for one in (*elsewhere, *self._agents.get((org_id, agent_id), ())) if one.at > since}
        known.pop(sent.key, None)
        kept = [*sorted(known.values(), key=lambda one: one.at), sent][-REQUESTS_MAX:]
        while len(kept) > 1 and sum(one.characters for one in kept) > AGENT_CHARACTERS_MAX:
            del kept[0]
        self._agents[(org_id, agent_id)] = kept
        self._agents.move_to_end((org_id, agent_id))
        self._make_room(org_id)
        return tuple(_joined(kept[:-1], texts))

    def leave(self, org_id: str, agent_id: str, key: str) -> None:
        """The request is not sent."""
        kept = [one for one in self._agents.get((org_id, agent_id), []) if one.key != key]
        if kept:
            self._agents[(org_id, agent_id)] = kept
        else:
            self._agents.pop((org_id, agent_id), None)

    def _make_room(self, org_id: str) -> None:
        """An organization's own oldest agent goes before that of another."""
        own = [agent for agent in self._agents if agent[0] == org_id]
        if len(own) > ORGANIZATION_AGENTS_MAX:
            del self._agents[own[0]]
        if len(self._agents) > PROCESS_AGENTS_MAX:
            self._agents.popitem(last=False)


def _joined(before: list[Sent], texts: _Texts) -> Iterator[JoinedText]:
    for place, text in texts.items():
        earlier = [one.texts[place] for one in before if place in one.texts]
        if any(one != text for one in earlier):
            yield JoinedText(tuple(earlier), text, place)


def texts_by_place(value: JsonValue) -> dict[str, str]:
    """The short texts by place, and under ``*`` the payload."""
    texts: _Texts = {}
    payload: list[str] = []
    for place, text in islice(_leaves(value), _PLACES_MAX):
        short = edges_of(text)
        texts[place] = short
        if place.startswith((".body", ".params", ".http.query")):
            payload.append(short)
    if payload:
        texts[_ALL] = "".join(payload)[-_TEXT_MAX:]
    return texts


def _leaves(value: JsonValue) -> Iterator[tuple[str, str]]:
    """The texts of what is sent; numbers too, as they may be pieces of something."""
    stack: list[tuple[str, JsonValue]] = [("", value)]
    for _ in range(_VISITED_MAX):
        if not stack:
            return
        place, one = stack.pop()
        if isinstance(one, dict):
            left_out = _NOT_SENT if place == "" else _ABOUT_THE_CALL if place == ".http" else frozenset()
            members = [(name, member) for name, member in islice(one.items(), _VISITED_MAX) if name not in left_out]
            stack.extend((_place(f"{place}.{name}"), member) for name, member in reversed(members))
        elif isinstance(one, list):
            items = list(enumerate(islice(one, _VISITED_MAX)))
            stack.extend((_place(f"{place}[{number}]"), item) for number, item in reversed(items))
        elif isinstance(one, str) and one:
            yield place, one
        elif isinstance(one, int | float) and not isinstance(one, bool):
            yield place, str(one)


def _place(written: str) -> str:
    """Names may be megabytes long, and each place below repeats them: a long one ends in its digest instead."""
    if len(written) <= _PLACE_CHARACTERS_MAX:
        return written
    digest = blake2b(written.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    return written[: _PLACE_CHARACTERS_MAX // 2] + digest
