"""The few words by which lists, pages and commands name a call: what was sent, and where to."""

from typing import Final

MESSAGE: Final = "message"
_MESSAGE_CALL: Final = ("websocket", "send")
"""Tool and operation, as ``headgate.protocols.websocket`` names them, which commands need not load."""
_OWN_PORTS: Final = {"https": (443,), "http": (80,), None: (443, 80)}


def shown_method(tool: object, operation: object, method: object) -> str:
    """The method, except of a message of a WebSocket, which is recorded with the call of its handshake."""
    return MESSAGE if (tool, operation) == _MESSAGE_CALL else f"{method}"


def shown_authority(scheme: object, host: object, port: object) -> str:
    """Host and port of a recorded call; the scheme's own port is left out. ``scheme`` None: it was not recorded.
    ``port`` None: neither was the port."""
    own = _OWN_PORTS.get(scheme if isinstance(scheme, str) else None, ())
    return f"{host}" if port is None or port in own else f"{host}:{port}"
