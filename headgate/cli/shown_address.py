"""The dashboard's address as a command prints it."""

import sys


def shown_address(dashboard: str, api_url: str) -> str:
    """On a terminal, for a person's browser: ``dashboard``, its own host name. For scripts, whose clients may not
    resolve it: the API's address."""
    return dashboard if sys.stdout.isatty() else api_url
