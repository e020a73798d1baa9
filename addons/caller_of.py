"""The one place that knows what ``ClientState.identity`` is."""

from addons.verdict import ClientState
from headgate.workflows.caller import Caller


def caller_of(client: ClientState) -> Caller | None:
    """Who calls on this connection; None before it has been proved."""
    return client.identity if isinstance(client.identity, Caller) else None


def remember_caller(client: ClientState, caller: Caller) -> None:
    client.identity = caller
