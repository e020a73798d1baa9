"""What one side of a connection has said lately, so that a secret that is cut over messages is read in one piece.

``headgate.nlp_policies.request_window`` does so for the requests of an agent. It has few of them, as each may be an
action on its own; of messages, some hundred may make one text. The connection holds its windows, so that nothing of
another one comes into them, and nothing outlives it.

Messages have a number from their arrival. They are decided side by side, and one may be read after a later one: that
is then joined once more, with this one before it.
"""

from bisect import insort
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Final, NamedTuple

from msgspec import Struct, field

from headgate.detectors.document import JoinedText
from headgate.kernel.canonical_json import JsonValue
from headgate.nlp_policies.request_window import texts_by_place

CHARACTERS_MAX: Final = 16_384
JOINED_CHARACTERS_MAX: Final = 2048
JOINED_MESSAGES_MAX: Final = 16
_TEXT_WEIGHT: Final = 32
"""Characters that each text counts more: of one letter, a window would hold ten thousand objects."""


class _Said(NamedTuple):
    """``at``: of messages that arrived together, which are one action."""

    number: int
    at: int
    weight: int
    texts: dict[str, str]


class MessageWindow(Struct, eq=False):
    """Of one direction of one connection."""

    _kept: list[_Said] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=count)

    def arrived(self) -> "ArrivedMessages":
        """One message, or those that are one action. To be called in their order."""
        return ArrivedMessages(self, next(self._numbers))

    def enter(self, number: int, messages: Sequence[JsonValue]) -> tuple[JoinedText, ...]:
        """What they make together with those before them. Entered again, they replace what they were: a decision may
        be repeated, and a policy may have masked them."""
        kept = [one for one in self._kept if one.number != number]
        last = len(messages) - JOINED_MESSAGES_MAX
        for at, message in enumerate(messages):
            if at < JOINED_MESSAGES_MAX or at >= last:
                texts = texts_by_place({"body": message})
                insort(kept, _Said(number, at, sum(map(len, texts.values())) + len(texts) * _TEXT_WEIGHT, texts))
        weight = sum(one.weight for one in kept)
        while len(kept) > 1 and weight > CHARACTERS_MAX:
            weight -= kept.pop(0).weight
        self._kept = kept
        return tuple(self._joined(number))

    def _joined(self, number: int) -> Iterator[JoinedText]:
        """Of a message that was read late, with those after it too: they were joined without it."""
        touched = {place for one in self._kept if one.number == number for place in one.texts}
        for end, one in enumerate(self._kept):
            if one.number < number or one.at >= JOINED_MESSAGES_MAX:
                continue
            known: set[tuple[tuple[str, ...], str]] = set()
            for place, text in one.texts.items():
                before = self._before(end, place) if place in touched else ()
                if (before, text) not in known and any(other != text for other in before):
                    known.add((before, text))  # all of a message is often one of its texts
                    yield JoinedText(before, text, place)

    def _before(self, end: int, place: str) -> tuple[str, ...]:
        """The texts there, up to so many characters back."""
        before: list[str] = []
        left = JOINED_CHARACTERS_MAX
        for one in reversed(self._kept[:end]):
            text = one.texts.get(place, "")
            left -= len(text)
            if left < 0:
                break
            if text:
                before.append(text)
        return tuple(reversed(before))


class ArrivedMessages(Struct, frozen=True):
    """One message, or those that are one action, with their place among the others of the connection."""

    window: MessageWindow
    number: int

    def joined(self, messages: Sequence[JsonValue]) -> tuple[JoinedText, ...]:
        """``MessageWindow.enter``, of what was read."""
        return self.window.enter(self.number, messages)
