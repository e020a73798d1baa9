"""A client of Headgate's API for Python programs, waiting (``Client``) or not (``AsyncClient``).

``operations`` has a function for each operation of the interface; what it returns is sent by either client, which
answers with the type that the function names. Guide: docs/guides/python-client.md.
"""

import importlib
from typing import TYPE_CHECKING

from headgate.client.errors import (
    ApiError,
    ConflictError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    PreconditionFailedError,
    RateLimitedError,
    ServerFaultError,
    TooLargeError,
    UnauthorizedError,
    UnavailableError,
    UnreachableError,
)

if TYPE_CHECKING:
    from headgate.client.asynchronous import AsyncClient
    from headgate.client.synchronous import Client

_WITH_HTTPX = {"AsyncClient": "asynchronous", "Client": "synchronous"}
"""Imported when they are first named: httpx takes longer to import than all the rest."""

__all__ = [
    "ApiError",
    "AsyncClient",
    "Client",
    "ConflictError",
    "ForbiddenError",
    "InvalidError",
    "NotFoundError",
    "PreconditionFailedError",
    "RateLimitedError",
    "ServerFaultError",
    "TooLargeError",
    "UnauthorizedError",
    "UnavailableError",
    "UnreachableError",
]


def __getattr__(name: str) -> type["AsyncClient | Client"]:
    if name not in _WITH_HTTPX:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: type[AsyncClient | Client] = getattr(importlib.import_module(f"{__name__}.{_WITH_HTTPX[name]}"), name)
    return found
