"""What policies that mask did to the content of one call."""

from typing import Final

from msgspec import Struct


class Masking(Struct, frozen=True):
    """``body``: sent in place of the client's content; None: that content is sent. ``is_complete``: nothing that a
    policy masks is left in what is sent. Where it is False, something is left, or may be."""

    body: bytes | None
    is_complete: bool

    def sent[Content: bytes | None](self, content: Content) -> bytes | Content:
        """What is sent of a call with this content."""
        return content if self.body is None else self.body


NOT_MASKED: Final = Masking(None, is_complete=False)
"""The content is sent as it came, and something that a policy masks is left in it, or may be."""
NOTHING_TO_MASK: Final = Masking(None, is_complete=True)
