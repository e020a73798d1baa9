"""Durations as people read them."""


def lasted(seconds: float) -> str:
    """In two units at most: ``2 h 30 min``."""
    if seconds < 1:
        return "under 1 s"
    for unit, length, smaller, part in (("d", 86_400, "h", 3_600), ("h", 3_600, "min", 60), ("min", 60, "s", 1)):
        parts = round(seconds / part)
        if parts * part >= length:
            whole, rest = divmod(parts, length // part)
            return f"{whole} {unit} {rest} {smaller}" if rest else f"{whole} {unit}"
    return f"{seconds:.0f} s"


def took(seconds: float) -> str:
    """How long one request or attempt took: ``12 ms``, ``3.4 s``."""
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 59.95 else lasted(seconds)
