"""An approval request in a few words: its call, and the time that is left."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from headgate.protocols.shown_call import shown_authority

_UNITS: Final = (("d", 86_400), ("h", 3_600), ("min", 60))


def call_text(action: Mapping[str, Any]) -> str:
    params = action["params"]
    name = f"{action['tool']}.{action['operation']}"
    if not isinstance(params.get("host"), str):
        return name
    return f"{name} {shown_authority(params.get('scheme'), params['host'], params.get('port'))}{params.get('path', '')}"


def stated_risk(approval: Mapping[str, Any]) -> str | None:
    """None: no policy states the risk, and the level that the API gives is the default of a held call."""
    return approval["decision"]["risk_level"] if approval["risk_is_stated"] else None


def time_left(until: str, now: datetime) -> str:
    """``42 s``, ``9 min``, ``3 h`` or ``2 d``."""
    seconds = max(0, int((datetime.fromisoformat(until) - now).total_seconds()))
    for unit, length in _UNITS:
        if seconds >= 2 * length:
            return f"{seconds // length} {unit}"
    return f"{seconds} s"
