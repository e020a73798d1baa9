"""What policies about content judge: a JSON value, and what detectors look at beside it."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct, field

from headgate.detectors.document import Attachment, JoinedText
from headgate.detectors.inspect import Aside
from headgate.kernel.canonical_json import JsonObject, JsonValue

_FIELDS: Final = (".http.headers.", ".http.sent.")


class JudgedContent(Struct, frozen=True):
    """``unread``: what could not be read within its limits, in words; None: everything was.

    ``sent``: by the name of a header field that signs in (Authorization, Cookie), the texts in it, without the words
    that would make any sign-in look like a leak (``Bearer``). ``attachments``: what is not text (a file, an archive).
    Both are for detectors: a language model sees ``value``, where such fields are masked. ``unscannable``: what no
    detector can open either, in words. ``joined``: what it makes together with requests before it. ``other_tools``: it
    holds definitions of tools, which detectors look at more strictly, and these are the names of other servers' tools.
    ``agent_id``: whose turn it is when it is inspected. ``limits_pass``: what detectors have no room or no time for
    counts as what they cannot open.
    """

    value: JsonValue
    unread: str | None = None
    sent: Mapping[str, Sequence[str]] = field(default_factory=dict)
    attachments: tuple[Attachment, ...] = ()
    unscannable: str | None = None
    joined: tuple[JoinedText, ...] = ()
    other_tools: frozenset[str] | None = None
    agent_id: str = ""
    limits_pass: bool = False

    def for_detectors(self, except_headers: Collection[str] = ()) -> JsonValue:
        """``value`` with the header fields as they are sent, without those that the policy leaves out."""
        http = self.value.get("http") if isinstance(self.value, dict) else None
        if not isinstance(self.value, dict) or not isinstance(http, dict):
            return self.value
        if except_headers and (headers := self._headers()):
            http = {**http, "headers": {name: one for name, one in headers.items() if name not in except_headers}}
        sent: list[JsonValue] = [
            text for name, texts in self.sent.items() if name not in except_headers for text in texts
        ]
        pieces: dict[str, JsonValue] = {  # a text may be cut into what separators hold apart
            f"{name} pieces": [piece for piece in str(http[name]).split(separator) if piece]
            for name, separator in (("host", "."), ("path", "/"))
            if str(http.get(name, "")).count(separator) > 1
        }
        return {**self.value, "http": {**http, **pieces, "sent": sent} if sent else {**http, **pieces}}

    def _headers(self) -> JsonObject:
        http = self.value.get("http") if isinstance(self.value, dict) else None
        headers = http.get("headers") if isinstance(http, dict) else None
        return headers if isinstance(headers, dict) else {}

    def header_names(self) -> frozenset[str]:
        return frozenset((*self.sent, *self._headers()))

    def fields(self, names: Iterable[str]) -> dict[str, Sequence[str]]:
        """Of these ``header_names`` what is sent in the field."""
        shown = self._headers()
        return {name: self.sent.get(name) or _texts(shown.get(name)) for name in names}

    def aside(self, names: frozenset[str]) -> Aside | None:
        """These header fields, as in ``for_detectors``; None for no names."""
        if not names:
            return None
        shown = {name: one for name, one in self._headers().items() if name in names}
        sent: list[JsonValue] = [text for name, texts in self.sent.items() if name in names for text in texts]
        return Aside(names, {"http": {"headers": shown, "sent": sent}})

    def by_field(self, except_headers: Collection[str] = ()) -> JsonValue:
        """As ``for_detectors``, and what signs in by the name of its field."""
        value = self.for_detectors(except_headers)
        if not isinstance(value, dict) or not isinstance(http := value.get("http"), dict):
            return value
        sent: JsonObject = {name: list(texts) for name, texts in self.sent.items() if name not in except_headers}
        return {**value, "http": {**http, "sent": sent}}

    def joined_without(self, except_headers: Sequence[str]) -> tuple[JoinedText, ...]:
        """``joined`` without the texts of header fields that the policy excepts."""
        if not self.joined:  # as of most calls; policies except fifty fields
            return ()
        left_out = {f"{start}{name}" for name in except_headers for start in _FIELDS}
        return tuple(one for one in self.joined if one.place.partition("[")[0] not in left_out)


def _texts(value: JsonValue) -> list[str]:
    """Of a header field, which a call may have several times."""
    return [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str)]
