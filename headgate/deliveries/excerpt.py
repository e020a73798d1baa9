"""What is kept of a receiver's answer: its beginning, as text, with secrets masked."""

from headgate.actions.masking import default_masker
from headgate.deliveries.model import EXCERPT_MAX_CHARACTERS


def excerpt_of(body: bytes) -> str | None:
    """None where there was nothing. NUL, which the database does not hold, is shown as its symbol (U+2400)."""
    if not body:
        return None
    text = body[: EXCERPT_MAX_CHARACTERS * 4].decode("utf-8", errors="replace").replace("\0", "\u2400")
    return default_masker().mask_text(text)[:EXCERPT_MAX_CHARACTERS]
