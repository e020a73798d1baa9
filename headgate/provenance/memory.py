"""What the agents of one process were shown, and where the values of a call come from.

Values are kept as hashes under a key that is derived from the database's secret, within a fixed amount of memory. What
an agent was shown is known for ``WINDOW_SECONDS`` after the last time that it was shown something; a restart forgets
(``headgate.provenance.sharing`` brings it back where Valkey is there).
"""

import itertools
import time
from collections.abc import Callable, Mapping
from typing import Final

import regorus
from msgspec import Struct

from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.sealing import derived_key
from headgate.kernel.secrets import Secret
from headgate.provenance.model import ProvenanceRules, Source, SourceKind
from headgate.provenance.values import CallValues

WINDOW_SECONDS: Final = 8 * 3600
VALUES_MAX: Final = 1_400_000
"""Of all agents together: 64 MiB. Beyond, agents of the organization with the most values are forgotten."""
AGENT_VALUES_MAX: Final = 65_536
ORIGINS_MAX: Final = 100
"""Of one call."""
_SOURCES_MAX: Final = 32_768
_TOLD_MAX: Final = 65_536
"""Texts that are not read again: a conversation is sent whole with each completion."""
_LISTS_AGAIN_SECONDS: Final = 3600
_KEY_BYTES: Final = 16
_EARLIER_CALL: Final = Source(SourceKind.EARLIER_CALL, trusted=True)
_ALL: Final = "*"
"""The path that stands for the values of a call which are not named."""
_UNREAD: Final = Source(SourceKind.UNREAD, trusted=False)
_FORGOTTEN: Final = {
    True: Source(SourceKind.PROMPT, trusted=True),
    False: Source(SourceKind.RESPONSE, trusted=False),
}


class _ReadLists(Struct, frozen=True):
    lists: Mapping[str, str]
    at: int


class Shown(Struct, frozen=True):
    """What was new to an agent: for the other processes. ``hashes``: eight bytes a value."""

    org_id: str
    agent_id: str
    source: Source
    hashes: bytes


def index_key(secret: Secret) -> bytes:
    """The same in all processes of one database."""
    return derived_key(secret, b"headgate provenance of values", size_bytes=_KEY_BYTES)


class ValueMemory:
    """Of one process. ``share`` is told what was new."""

    def __init__(
        self,
        key: bytes,
        *,
        share: Callable[[Shown], None] = lambda shown: None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._index = regorus.ProvenanceIndex(key, VALUES_MAX, AGENT_VALUES_MAX)
        self._share = share
        self._monotonic = monotonic
        self._numbers = itertools.count(1)
        self._sources: dict[int, Source] = {}
        self._lists: dict[str, _ReadLists] = {}
        self._told: dict[int, None] = {}
        self._earlier_call = self.number(_EARLIER_CALL)

    @property
    def values(self) -> int:
        """How many are known."""
        return len(self._index)

    def number(self, source: Source) -> int:
        """By which ``show`` names it. The oldest sources are forgotten: their values stay, as a stranger's or not."""
        number = next(self._numbers) & 0xFFFFFFFF
        self._sources[number] = source
        if len(self._sources) > _SOURCES_MAX:
            # The second: the first is that of earlier calls, for as long as the process runs.
            del self._sources[next(itertools.islice(self._sources, 1, None))]
        return number

    def called(self, org_id: str, agent_id: str, host: str) -> None:
        """The agent's call to this host goes: a page that names the host later does not make it a stranger's."""
        self.show(org_id, agent_id, host.encode("ascii"), _EARLIER_CALL, self._earlier_call)

    def is_new_text(self, org_id: str, agent_id: str, kind: SourceKind, text: str) -> bool:
        """Whether the agent has not told a model this text lately."""
        told = hash((org_id, agent_id, kind, text))
        if told in self._told:
            return False
        self._told[told] = None
        if len(self._told) > _TOLD_MAX:
            del self._told[next(iter(self._told))]
        return True

    def show(self, org_id: str, agent_id: str, text: bytes, source: Source, number: int) -> None:
        """The agent was shown this text by this source."""
        hashes = self._index.observe(_subject(org_id, agent_id), self._now(), text, number, source.trusted)
        if hashes:
            self._share(Shown(org_id, agent_id, source, hashes))

    def absorb(self, shown: Shown) -> None:
        """What another process has seen. Raises ValueError."""
        number = self.number(shown.source)
        self._index.absorb(
            _subject(shown.org_id, shown.agent_id), self._now(), shown.hashes, number, shown.source.trusted
        )

    def origins(self, org_id: str, agent_id: str, rules: ProvenanceRules, values: CallValues) -> JsonObject:
        """``input.provenance``: of each value that somebody showed to this agent, where it was first seen.

        At most ``ORIGINS_MAX`` of them, strangers' first; where strangers' are left out, ``*`` says so.
        """
        answers = self._index.look_up([self._listed(org_id, rules), _subject(org_id, agent_id)], values.texts)
        found = {at: one for at, one in enumerate(answers) if one is not None}
        is_complete = values.is_complete
        if len(found) > ORIGINS_MAX:
            strangers_first = sorted(found, key=lambda at: found[at][1])
            is_complete = is_complete and found[strangers_first[ORIGINS_MAX]][1]
            found = {at: found[at] for at in strangers_first[:ORIGINS_MAX]}
        origins: JsonObject = {}
        records: dict[tuple[int, bool], JsonObject] = {}  # one page may have shown them all
        for at, path in values.paths(found).items() if found else ():
            number, trusted, is_exact = found[at]
            record = records.get((number, trusted))
            if record is None:
                record = self._sources.get(number, _FORGOTTEN[trusted]).record()
                records[number, trusted] = record
            origins[path] = record if is_exact else {**record, "part": "host"}
        if not is_complete:
            origins[_ALL] = _UNREAD.record()
        return origins

    def forget_old(self) -> None:
        """Those who were shown nothing within the window."""
        self._index.forget_unused(max(0, self._now() - WINDOW_SECONDS))

    def _listed(self, org_id: str, rules: ProvenanceRules) -> str:
        """The subject that has read the lists of these rules, and reads them again before they could be forgotten."""
        subject, now, read = f"{org_id} lists", self._now(), self._lists.get(org_id)
        if read is not None and read.lists != rules.lists:
            self._index.forget(subject)
            read = None
        if read is None or now - read.at > _LISTS_AGAIN_SECONDS:
            for path, content in rules.lists.items():
                number = self.number(Source(SourceKind.LIST, trusted=True, name=path))
                self._index.observe(subject, now, content.encode(), number, trusted=True)
            self._lists[org_id] = _ReadLists(rules.lists, now)
        return subject

    def _now(self) -> int:
        return int(self._monotonic())


def _subject(org_id: str, agent_id: str) -> str:
    """The organization first: the index takes it for the owner."""
    return f"{org_id} {agent_id}"
