"""What the kernel says of this process in one line."""

from pathlib import Path


def stat_field(number: int) -> int:
    """Of ``/proc/self/stat``, by its number in proc(5): the fourth or a later one. Raises OSError."""
    # The second is the name in parentheses, which may hold spaces and parentheses itself.
    return int(Path("/proc/self/stat").read_text("ascii", errors="replace").rpartition(")")[2].split()[number - 3])
