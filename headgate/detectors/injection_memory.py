"""What is known of each token of the learned windows."""

from collections.abc import Callable
from typing import Final

_TOKENS_MAX: Final = 20_000
"""Texts choose the words: so many are kept."""
_CHARACTERS_MAX: Final = 64
"""A longer one, of spaces or of line breaks, is not."""


class TokenMemory[T](dict[str, T]):
    """Looked up by ``learn`` when a token is first met: looking up in a dict costs no call."""

    def __init__(self, learn: Callable[[str], T]) -> None:
        super().__init__()
        self._learn = learn

    def __missing__(self, raw: str) -> T:
        learned = self._learn(raw)
        if len(raw) <= _CHARACTERS_MAX:
            if len(self) >= _TOKENS_MAX:
                self.clear()
            self[raw] = learned
        return learned
