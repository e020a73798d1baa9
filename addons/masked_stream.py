"""A stream in which policies mask events, as the record describes it."""

from hashlib import sha256

from headgate.gate.masked_body import MaskedBody
from headgate.kernel.canonical_json import JsonObject


class MaskedStream:
    """From its first event to its last one that is forwarded."""

    def __init__(self) -> None:
        self._count = 0
        self._kinds: set[str] = set()
        self.size_bytes = 0
        self._digest = sha256()

    def forwarded(self, pieces: bytes, masked: MaskedBody | None) -> None:
        """``masked``: what was replaced in them; None: nothing."""
        self.size_bytes += len(pieces)
        self._digest.update(pieces)
        if masked is not None:
            self._count += masked.count
            self._kinds.update(masked.kinds)

    @property
    def is_masked(self) -> bool:
        """Whether the agent got another stream than the one that came."""
        return self._count > 0

    def record(self) -> JsonObject:
        return {
            "count": self._count,
            "kinds": [*sorted(self._kinds)],
            "size_bytes": self.size_bytes,
            "sha256": "sha256:" + self._digest.hexdigest(),
        }
