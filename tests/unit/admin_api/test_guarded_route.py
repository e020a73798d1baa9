import subprocess
import sys

import pytest
from fastapi import APIRouter
from starlette.routing import PARAM_REGEX, Match, Route, compile_path

from admin_api.app import create_app
from admin_api.guarded_route import GuardedRoute
from headgate.kernel.errors import UnavailableError

DECLARED = """
from admin_api.app import create_app
app = create_app(None)
app.build_middleware_stack()
names = ("dependant", "path_regex")
print(*(sum(name in vars(route) for route in app.routes) for name in names), len(app.routes))
"""


def test_a_start_derives_no_route_and_compiles_no_pattern() -> None:
    done = subprocess.run([sys.executable, "-c", DECLARED], capture_output=True, text=True, check=True)
    derived, compiled, declared = map(int, done.stdout.split())
    assert (derived, compiled) == (0, 0)
    assert declared > 400


def test_every_route_can_be_derived() -> None:
    """Pages too, which the description leaves out."""
    for route in create_app(None).routes:
        assert isinstance(route, Route)
        assert callable(route.app)


_FILLED = {"": "x1", "path": "x/1", "int": "1"}


def test_a_route_matches_what_its_pattern_does() -> None:
    routes = [route for route in create_app(None).routes if isinstance(route, GuardedRoute)]
    paths = {PARAM_REGEX.sub(lambda found: _FILLED[(found[2] or "")[1:]], route.path) for route in routes}
    paths |= {"/", "", "/v1", "/v1/actions/", "/admin/unknown", "/v1/actions/x1/unknown"}
    for route in routes:
        pattern, path_format, _ = compile_path(route.path)
        assert route.path_format == path_format
        for path in paths:
            match, _ = route.matches({"type": "http", "method": "GET", "path": path})
            assert (match is not Match.NONE) == (pattern.match(path) is not None)


def test_a_request_compiles_the_patterns_that_begin_as_it_does() -> None:
    router = APIRouter(route_class=GuardedRoute)
    for path in ("/v1/approvals", "/v1/approvals/{approval_id}", "/v1/actions", "/v1/actions/{action_id}"):
        router.add_api_route(path, lambda: None, methods=["GET"])
    for route in router.routes:
        route.matches({"type": "http", "method": "GET", "path": "/v1/actions/act_1"})
    compiled = [route.path for route in router.routes if isinstance(route, Route) and "path_regex" in vars(route)]
    assert compiled == ["/v1/actions", "/v1/actions/{action_id}"]


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
