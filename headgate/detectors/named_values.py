"""Credentials whose name is a value too: ``{"name": "DB_PASSWORD", "value": "…"}``, as environments of containers,
variables of pipelines, header lists and fields of chat messages are written.
"""

from collections.abc import Iterator
from typing import Final

from regorus import BytePattern

from headgate.detectors.limits import Budget
from headgate.detectors.model import Match
from headgate.detectors.secrets import find_secrets

_PAIRS_MAX: Final = 200
_PAIR: Final = BytePattern(
    rb"(?im)^(?:[a-z ]{1,40} )?(?:name|key|variable|field|label|title|header|env):"
    rb" ([a-z][\w .-]{0,40}(?:pass|pwd|secret|token|key|credential|auth)[\w .-]{0,24})\n\x00\n"
    rb"(?:[\w ]{1,80} )?(?:value|val|content|text|default): ([^\n]{4,512})$"
)


def find_named_values(buffer: bytes, budget: Budget) -> Iterator[Match]:
    """Reads each name and the value after it as one assignment."""
    for number, found in enumerate(_PAIR.finditer(buffer)):
        if number >= _PAIRS_MAX or not budget.has_time():
            return
        name = found[1] + b": "
        for match in find_secrets(name + found[2], budget):
            if match.start >= len(name):
                shift = found.start(2) - len(name)
                yield Match(match.kind, match.start + shift, match.end + shift, match.confidence)
