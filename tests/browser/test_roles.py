"""Each page for each role, and what a forged form gets: HTTP with a session's cookie, as a browser sends it."""

from collections.abc import Callable
from typing import Final

import httpx
import pytest
from playwright.sync_api import StorageState

from admin_api.access import ACCESS, Audience
from headgate.kernel.public_roots import public_roots
from headgate.organizations.model import Role
from tests.browser.pages import PAGES, Page, may
from tests.browser.world import World
from tests.e2e.instance import Instance

type SignedIn = Callable[[Role | None], StorageState | None]

_FORMS: Final = sorted(
    path for (method, path), access in ACCESS.items() if method == "POST" and access.audience is Audience.PAGES
)
_OWN_PAGE: Final = {"sec-fetch-site": "same-origin"}
_FORGED: Final = (
    {},
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
    {"sec-fetch-site": "none"},
    {"origin": "https://evil.example"},
    {"origin": "null"},
    {"sec-fetch-site": "cross-site", "origin": "{own}"},
)


def _client(instance: Instance, signed_in: SignedIn, role: Role | None) -> httpx.Client:
    state = signed_in(role)
    cookies = {one["name"]: one["value"] for one in state["cookies"]} if state else {}
    return httpx.Client(
        verify=public_roots(), base_url=instance.runtime["api_url"], cookies=cookies, trust_env=False, timeout=30
    )


@pytest.mark.parametrize("role", [None, *Role], ids=lambda role: role or "nobody")
def test_what_opens(instance: Instance, signed_in: SignedIn, world: World, role: Role | None) -> None:
    with _client(instance, signed_in, role) as client:
        for page in PAGES:
            answer = client.get(page.path.format_map(world.names))
            if answer.has_redirect_location and not answer.headers["location"].startswith("/auth/login"):
                answer = client.get(answer.headers["location"])  # a section leads to its first page
            if page.opens_for(role):
                assert answer.status_code == page.status, (page.path, answer.text)
            elif role is None:
                assert answer.status_code == 303, page.path
                assert answer.headers["location"].startswith("/auth/login?return_to=%2F"), page.path
            else:
                assert answer.status_code == 403, page.path
                assert "Headgate cannot show this page" in answer.text
            _is_framed_by_nobody_and_kept_by_nobody(answer, page)


def _is_framed_by_nobody_and_kept_by_nobody(answer: httpx.Response, page: Page) -> None:
    if answer.status_code == 303:
        return
    policy = answer.headers["content-security-policy"]
    for directive in ("default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"):
        assert directive in policy, page.path
    assert "unsafe" not in policy, page.path
    assert answer.headers["cache-control"] == "no-store", page.path
    assert answer.headers["x-content-type-options"] == "nosniff", page.path


@pytest.mark.parametrize("path", _FORMS)
def test_a_form_from_elsewhere_is_refused(instance: Instance, signed_in: SignedIn, path: str) -> None:
    own = instance.runtime["api_url"]
    with _client(instance, signed_in, Role.ADMIN) as client:
        for headers in _FORGED:
            sent = {name: value.format(own=own) for name, value in headers.items()}
            answer = client.post(path.replace("{}", "x"), headers=sent, data={"decision": "approve"})
            assert answer.status_code == 403, (headers, answer.text)


@pytest.mark.parametrize("path", _FORMS)
def test_a_form_is_taken_only_from_who_may_send_it(instance: Instance, signed_in: SignedIn, path: str) -> None:
    scope = ACCESS["POST", path].scope
    for role in [None, *Role]:
        if may(role, scope):
            continue
        with _client(instance, signed_in, role) as client:
            answer = client.post(path.replace("{}", "x"), headers=_OWN_PAGE, data={"decision": "approve"})
            assert answer.status_code == (303 if role is None else 403), (role, answer.text)
