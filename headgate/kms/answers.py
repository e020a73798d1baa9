"""Reads members of the JSON that a key management service answers with, and writes bytes for its requests.

``service``: its name, for errors.
"""

import base64

from headgate.kernel.errors import UnavailableError


def text_of(document: object, name: str, service: str) -> str:
    """Raises UnavailableError: the member is missing, empty or no text."""
    found = document.get(name) if isinstance(document, dict) else None
    if not isinstance(found, str) or not found:
        raise UnavailableError(f"{service} answered without {name}")
    return found


def bytes_of(text: str, name: str, service: str) -> bytes:
    """Decodes base64. Raises UnavailableError, which shows no part of the text."""
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        raise UnavailableError(f"{service} answered with a {name} that is not base64") from None


def base64_of(content: bytes) -> str:
    """Encodes bytes for a member of a request."""
    return base64.b64encode(content).decode()
