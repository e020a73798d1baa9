"""Names a browser in two words."""

import re
from typing import Final

_BROWSERS: Final = (
    ("Edge", re.compile(r"\bEdg(?:e|A|iOS)?/(\d+)")),
    ("Opera", re.compile(r"\bOPR/(\d+)")),
    ("Firefox", re.compile(r"\b(?:Firefox|FxiOS)/(\d+)")),
    ("Chrome", re.compile(r"\b(?:HeadlessChrome|Chrome|CriOS)/(\d+)")),
    ("Safari", re.compile(r"\bVersion/(\d+)\S* .*Safari/")),
)
_SYSTEMS: Final = (
    ("Android", "Android"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Windows", "Windows"),
    ("Macintosh", "macOS"),
    ("Linux", "Linux"),
)
_MOST_CHARACTERS: Final = 40


def browser_name(user_agent: str | None) -> str:
    """``Firefox 140, Linux``. Another program's name stays as it is, cut. It is the program's word, and no proof."""
    if user_agent is None:
        return "Unknown browser"
    for name, pattern in _BROWSERS:
        if (found := pattern.search(user_agent)) is not None:
            system = next((shown for word, shown in _SYSTEMS if word in user_agent), None)
            return f"{name} {found[1]}" + (f", {system}" if system else "")
    return user_agent if len(user_agent) <= _MOST_CHARACTERS else user_agent[: _MOST_CHARACTERS - 1] + "…"
