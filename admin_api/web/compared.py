"""Shows two texts side by side, from the API's unified diff."""

from collections.abc import Sequence

from msgspec import Struct


class Row(Struct, frozen=True):
    """``left`` and ``right``: a line of each; None: there is none. ``is_break``: equal lines are left out."""

    left: str | None
    right: str | None
    is_changed: bool = False
    is_break: bool = False


def side_by_side(diff: str) -> Sequence[Row]:
    """Removed lines stand beside the lines that took their place."""
    rows: list[Row] = []
    removed: list[str] = []
    added: list[str] = []

    def flush() -> None:
        for number in range(max(len(removed), len(added))):
            left = removed[number] if number < len(removed) else None
            right = added[number] if number < len(added) else None
            rows.append(Row(left, right, is_changed=True))
        removed.clear()
        added.clear()

    # The first two lines name the sides.
    for line in diff.split("\n")[2:]:
        match line[:1]:
            case "-":
                removed.append(line[1:])
            case "+":
                added.append(line[1:])
            case "@":
                flush()
                rows.append(Row(line, None, is_break=True))
            case _:
                flush()
                rows.append(Row(line[1:], line[1:]))
    flush()
    return rows
