"""Event streams as they may be kept: masked by what their own framing joins. Pure."""

from collections.abc import Callable
from typing import Final

_DATA: Final = "data:"


def mask_events(text: str, mask_line: Callable[[str], str]) -> str:
    """A stream of events, line by line; several lines of data in a row are one text (WHATWG HTML, section 9.2.6), and
    where that is something which ``mask_line`` masks, they become one line."""
    shown: list[str] = []
    data: list[str] = []
    for line in [*text.split("\n"), ""]:
        if line.startswith(_DATA):
            data.append(line)
            continue
        shown += _joined(data, mask_line)
        data = []
        shown.append(line)
    return "\n".join(shown[:-1])


def _joined(lines: list[str], mask_line: Callable[[str], str]) -> list[str]:
    if len(lines) > 1:
        ending = "\r" if lines[-1].endswith("\r") else ""
        whole = f"{_DATA} {''.join(one.removeprefix(_DATA).strip() for one in lines)}{ending}"
        if (masked := mask_line(whole)) != whole:
            return [masked]
    return [mask_line(one) for one in lines]
