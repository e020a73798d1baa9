"""The dashboard's address as a command prints it."""

import sys

from headgate.organizations.dashboard_address import dashboard_address
from headgate.organizations.local_issuer import LocalIssuer


def shown_address(issuer: LocalIssuer, api_url: str) -> str:
    """On a terminal, for a person's browser: the dashboard's own host name. For scripts, whose clients may not resolve
    it: the API's address."""
    return dashboard_address(issuer, api_url) if sys.stdout.isatty() else api_url
