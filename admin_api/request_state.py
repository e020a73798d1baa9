"""What is known of one request while it is served; kept in the ASGI scope, made by ``request_context``."""

import os
from typing import Final

from msgspec import Struct, field
from starlette.types import Scope

from admin_api.principal import Principal

_SCOPE_KEY: Final = "headgate.request"
UNMATCHED: Final = "unmatched"


class RequestState(Struct):
    """``route`` is the path template, never the path: a path is the client's text and may hold anything."""

    request_id: str
    route: str = UNMATCHED
    principal: Principal | None = None
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    """To be added to whatever answer is sent, an error included."""
    is_head: bool = False
    """Asked with HEAD: the route of GET answers, and its content is neither made nor sent."""
    public_url: str | None = None
    """Of the dashboard; None where nobody can sign in with a browser."""


def new_request_state() -> RequestState:
    return RequestState(f"req_{os.urandom(12).hex()}")


def attach(scope: Scope, state: RequestState) -> None:
    scope[_SCOPE_KEY] = state


def request_state(scope: Scope) -> RequestState:
    """The state of this request. Raises KeyError outside of ``request_context``."""
    state: RequestState = scope[_SCOPE_KEY]
    return state
