"""``headgate demo``."""

import sys

import click


@click.command()
def demo() -> None:
    """Run a demonstration without internet: a service, an agent, a reviewer, and the audit log."""
    from headgate.demo.main import run_demo  # noqa: PLC0415 - loaded by this command only

    sys.exit(0 if run_demo(click.echo) else 1)
