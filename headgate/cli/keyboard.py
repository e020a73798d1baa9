"""A terminal that tells single keys, and has one line that changes while it waits."""

import os
import select
import shutil
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import click

_TICK_SECONDS: Final = 0.5
_CLEAR: Final = "\r\x1b[2K"
_END: Final = "\x04"


class Keyboard:
    """Within ``open_keyboard``."""

    def __init__(self, settings: list[Any]) -> None:
        self._settings = settings
        self._status = ""

    def forget(self) -> None:
        termios.tcflush(sys.stdin, termios.TCIFLUSH)

    def say(self, text: str) -> None:
        self._status = ""
        sys.stdout.write(_CLEAR)
        click.echo(text)

    def status(self, text: str) -> None:
        """In place of the last one; cut, so that it stays one line."""
        if text == self._status:
            return
        self._status = text
        sys.stdout.write(_CLEAR + text[: shutil.get_terminal_size().columns - 1])
        sys.stdout.flush()

    def key(self) -> str | None:
        ready, _, _ = select.select([sys.stdin], [], [], _TICK_SECONDS)
        if not ready:
            return None
        # Not through Python's buffer: select does not know what is in it.
        key = os.read(sys.stdin.fileno(), 1).decode("ascii", "replace")
        return "q" if key in ("", _END) else key.lower()

    def ask(self, question: str) -> str | None:
        """None: the person has changed their mind (Ctrl-D)."""
        self._status = ""
        sys.stdout.write(_CLEAR)
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, self._settings)
        try:
            return input(f"{question}: ")
        except EOFError:
            return None
        finally:
            tty.setcbreak(sys.stdin)


@contextmanager
def open_keyboard() -> Iterator[Keyboard]:
    """The terminal is as it was afterwards, whatever happens."""
    settings = termios.tcgetattr(sys.stdin)
    tty.setcbreak(sys.stdin)
    try:
        yield Keyboard(settings)
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, settings)
        click.echo()
