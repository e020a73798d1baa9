"""What a catalogue knows of the consequences of an operation, in plain sentences for its approver. Pure.

It says no more than the catalogue does: none says who sees the result.
"""

from collections.abc import Sequence
from typing import Final

from headgate.protocols.names import CALL_TOOLS

_UNKNOWN: Final = "No catalogue describes this operation, so its consequences are unknown."
_UNLISTED: Final = "No catalogue lists this operation. Headgate infers this from the request alone."
_EFFECTS: Final = {
    "read": "It reads data from {tool} and changes nothing there.",
    "write": "It creates or changes data in {tool}.",
    "destructive": "It deletes, overwrites or gives away data in {tool}. Headgate cannot undo it.",
}
_ONCE: Final = "A repeated request has no further effect."
_EACH_TIME: Final = "Each repeated request takes effect again."


def consequences(tool: str, effect: str | None, *, is_repeatable: bool | None) -> Sequence[str]:
    """``effect``: as policies read it. ``is_repeatable``: as the catalogue says; None: it lists no such operation."""
    known = _EFFECTS.get(effect or "")
    if known is None:
        return [_UNKNOWN]
    said = known.format(tool="its destination" if tool in CALL_TOOLS else tool)
    if is_repeatable is None:
        return [said, _UNLISTED]
    return [said] if effect == "read" else [said, _ONCE if is_repeatable else _EACH_TIME]
