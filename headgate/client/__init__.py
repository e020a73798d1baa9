"""A client of Headgate's API for Python programs, waiting (``Client``) or not (``AsyncClient``).

``operations`` has a function for each operation of the interface; what it returns is sent by either client, which
answers with the type that the function names. Guide: docs/guides/python-client.md.
"""

from headgate.client.asynchronous import AsyncClient
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
from headgate.client.synchronous import Client

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
