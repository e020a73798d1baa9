"""Who did something, in one form everywhere: what they are, a colon, and their name, or their id without one."""

from collections.abc import Mapping
from typing import Any

from headgate.cli.tables import safe


def actor_text(actor: Mapping[str, Any] | None) -> str:
    """``user:ana@example.com``, ``agent:Courier``, ``system:headgate``."""
    if actor is None:
        return "(erased)"
    return safe(f"{actor['type']}:{actor.get('name') or actor['id']}")
