"""The table of who may call what, and the routes that there are."""

import pytest
from fastapi import APIRouter
from fastapi.routing import APIRoute

from admin_api.access import ACCESS, Access, Audience, access_of
from admin_api.app import ROUTERS, create_app
from admin_api.direct_dispatch import DirectDispatch
from admin_api.guarded_route import GuardedRoute
from headgate.agents.scopes import Scope
from headgate.ratelimits.classes import RateClass


def mounted() -> list[tuple[str, str]]:
    return [
        (method, route.path_format)
        for route in create_app(None).routes
        if isinstance(route, APIRoute)
        for method in route.methods
    ]


SHUT_OFF = {
    ("PUT", "/admin/settings/kill-switch"),
    ("POST", "/admin/agents/{id}/suspend"),
    ("DELETE", "/admin/agents/{agent_id}/keys/{key_id}"),
    ("DELETE", "/admin/keys/{id}"),
    ("POST", "/admin/keys/revoke-matching"),
    ("POST", "/admin/users/{id}/deactivate"),
    ("DELETE", "/admin/users/{id}/sessions"),
}
APPROVALS = ("/v1/approvals", "/admin/approvals")
REVOKING = {
    ("DELETE", "/admin/grants/{id}"),
    ("POST", "/grants/{grant_id}"),
    ("POST", "/admin/break-glass/{id}/review"),
    ("POST", "/break-glass/{pass_id}"),
    ("DELETE", "/auth/sessions"),
    ("DELETE", "/auth/sessions/{id}"),
    ("DELETE", "/admin/users/{id}/sessions/{session_id}"),
    ("POST", "/account/sessions"),
    ("POST", "/settings/members/{user_id}"),
    ("POST", "/settings/members/{user_id}/sessions"),
    ("POST", "/settings/keys"),
    ("POST", "/agents/{agent_id}"),
}
DECIDING = ("/approve", "/deny", "/decision", "/bulk-decision")


def test_what_is_urgent() -> None:
    """Connections to the database are kept for it: stops, revocations and decisions on approvals."""
    urgent = {(method, path) for method, path in mounted() if access_of(method, path).is_urgent}
    decisions = {("POST", path) for _, path in mounted() if path.startswith(APPROVALS) and path.endswith(DECIDING)}
    pages = {("GET", "/stop"), ("POST", "/stop"), ("POST", "/inbox"), ("POST", "/inbox/{approval_id}")}
    assert urgent == SHUT_OFF | REVOKING | decisions | pages


@pytest.mark.parametrize(("method", "path"), mounted())
def test_every_route_is_guarded_as_the_table_says(method: str, path: str) -> None:
    access = access_of(method, path)
    if access.audience is Audience.PAGES:
        deciding = method == "POST" and path.startswith("/inbox")
        stopping = (method, path) == ("POST", "/stop")  # no quota refuses it
        assert access.rate_class is (RateClass.DECISIONS if deciding else None if stopping else RateClass.PAGES)
        return
    if (method, path) in SHUT_OFF:
        assert access == Access(Audience.ADMINISTRATORS, Scope.ADMIN, is_urgent=True)  # no quota refuses it
    elif method == "POST" and path.endswith(DECIDING):
        audience = Audience.ADMINISTRATORS if path.startswith("/admin/") else Audience.AGENTS
        assert access == Access(audience, Scope.APPROVALS_WRITE, RateClass.DECISIONS, is_urgent=True)
    elif path.startswith("/admin/") or path == "/v1/dry-run":
        assert access.audience is Audience.ADMINISTRATORS
        is_stream = path.endswith("/events")  # pages open it anew, which does not use up the quota for changes
        assert access.rate_class is (RateClass.ACTIONS if is_stream else RateClass.ADMIN)
    elif path.startswith(("/auth/session", "/v1/passkeys")):
        assert (access.audience, access.rate_class) == (Audience.PEOPLE, RateClass.ADMIN)
    elif path == "/auth/backchannel-logout":
        assert access == Access(Audience.PUBLIC)  # its route counts it
    elif path in ("/v1/demo/evaluate", "/v1/funnel-events", "/csp-report") or path.startswith("/auth/"):
        assert (access.audience, access.rate_class) == (Audience.PUBLIC, RateClass.PUBLIC)
    elif path.startswith("/v1/mfa/"):
        # A person's own: they need no scope, and no key is a person.
        assert access == Access(Audience.ADMINISTRATORS, rate_class=RateClass.ADMIN)
        return
    elif path.startswith("/v1/"):
        assert access.audience is Audience.AGENTS
        assert access.rate_class is RateClass.ACTIONS
    else:
        assert access.audience is Audience.PUBLIC
    assert (access.scope is None) == (access.audience in (Audience.PUBLIC, Audience.PEOPLE))
    if method == "GET" and access.scope not in (None, Scope.ADMIN, Scope.OPERATOR):
        assert str(access.scope).endswith(":read")


def test_the_table_has_no_route_that_is_not_there_and_none_is_there_twice() -> None:
    there = [access_of(method, path) and (method, path) for method, path in mounted()]
    assert len(there) == len(set(there))
    assert len(there) == len(ACCESS)


def test_a_cached_key_is_only_good_where_the_record_compares_its_generation() -> None:
    assert [route for route, access in ACCESS.items() if access.recorded] == [("POST", "/v1/actions")]


def test_a_route_without_its_place_in_the_table_cannot_be_declared() -> None:
    router = APIRouter(route_class=GuardedRoute)
    with pytest.raises(LookupError, match="POST /admin/everything"):
        router.add_api_route("/admin/everything", lambda: None, methods=["POST"])


def test_an_unguarded_route_cannot_be_mounted(monkeypatch: pytest.MonkeyPatch) -> None:
    router = APIRouter()
    router.add_api_route("/open", lambda: None, methods=["GET"])
    monkeypatch.setattr("admin_api.app.ROUTERS", (*ROUTERS, router))
    with pytest.raises(TypeError, match="not a GuardedRoute"):
        create_app(None)


def test_the_hot_path_takes_the_short_way_and_is_guarded_there() -> None:
    direct = DirectDispatch(create_app(None), routes=create_app(None).routes)
    assert ("POST", "/v1/actions") in direct._handlers
    assert ("POST", "/admin/agents") not in direct._handlers, "its body is FastAPI's to check"
    for method, path in direct._handlers:
        if method == "HEAD":  # what nobody is asked for, and nothing else
            assert ACCESS["GET", path] == Access(Audience.PUBLIC)
        else:
            assert (method, path) in ACCESS
