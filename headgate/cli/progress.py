"""A progress bar on stderr, where somebody sees it."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

type Progress = Callable[[int], None]
"""Told of how many more are done."""


@contextmanager
def progress_bar(total: int, label: str) -> Iterator[Progress]:
    if not sys.stderr.isatty() or not total:
        yield lambda done: None
        return
    with click.progressbar(length=total, label=label, file=sys.stderr, show_pos=True) as bar:
        yield bar.update
