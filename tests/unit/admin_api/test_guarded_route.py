import subprocess
import sys

import pytest
from fastapi import APIRouter
from starlette.routing import Route

from admin_api.app import create_app
from admin_api.guarded_route import GuardedRoute
from headgate.kernel.errors import UnavailableError

DECLARED = """
from admin_api.app import create_app
app = create_app(None)
app.build_middleware_stack()
print(sum("dependant" in vars(route) for route in app.routes), len(app.routes))
"""


def test_a_start_derives_no_route() -> None:
    done = subprocess.run([sys.executable, "-c", DECLARED], capture_output=True, text=True, check=True)
    derived, declared = map(int, done.stdout.split())
    assert derived == 0
    assert declared > 400


def test_every_route_can_be_derived() -> None:
    """Pages too, which the description leaves out."""
    for route in create_app(None).routes:
        assert isinstance(route, Route)
        assert callable(route.app)


def test_a_route_that_cannot_be_derived_answers_nobody() -> None:
    router = APIRouter(route_class=GuardedRoute)

    def broken(argument: UnavailableError) -> None:
        """An exception is nothing that a request can hold."""

    router.add_api_route("/v1/approvals", broken, methods=["GET"])
    [route] = router.routes
    assert isinstance(route, GuardedRoute)
    for _ in range(2):
        with pytest.raises(Exception, match="Invalid args"):
            _ = route.app


def test_a_route_has_no_attribute_that_the_framework_does_not_give_it() -> None:
    router = APIRouter(route_class=GuardedRoute)
    router.add_api_route("/v1/approvals", lambda: None, methods=["GET"])
    [route] = router.routes
    with pytest.raises(AttributeError, match="no attribute colour"):
        _ = route.colour  # type: ignore[attr-defined] # there is none, which is what is tested
