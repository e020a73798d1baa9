"""One instance and one browser for the folder. Playwright's loop runs as long as they do, so no test here is async."""

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest
from playwright.sync_api import Browser, BrowserContext, StorageState, expect

from headgate.demo.certificates import write_service_certificate
from headgate.organizations.model import Role
from tests.browser.chromium import chromium
from tests.browser.window import DESKTOP, Look, Window
from tests.browser.world import World
from tests.e2e.clients import Administrator
from tests.e2e.instance import Instance, running

# A machine that runs other tests too takes longer than the five seconds that are the default.
expect.set_options(timeout=20_000)

type OpenWindow = Callable[..., Window]


@pytest.fixture(scope="package")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instance]:
    folder = tmp_path_factory.mktemp("browser")
    root, _ = write_service_certificate(folder, "127.0.0.1")
    with running(folder, root) as started:
        yield started


@pytest.fixture(scope="package")
def administrator(instance: Instance) -> Iterator[Administrator]:
    with closing(Administrator(instance)) as administrator:
        yield administrator


@pytest.fixture(scope="package")
def world(instance: Instance, administrator: Administrator) -> World:
    return World(instance, administrator)


@pytest.fixture
def before(administrator: Administrator) -> Iterator[int]:
    """How many requests are open before the test. Those that it leaves open are denied."""
    found = _open(administrator)
    yield len(found)
    for approval_id in _open(administrator) - found:
        administrator.deny(approval_id, "the test is over")


def _open(administrator: Administrator) -> set[str]:
    return {one["id"] for one in administrator.get("/v1/approvals", status="pending", limit=100)["data"]}


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="package")
def signed_in(world: World, browser: Browser) -> Callable[[Role | None], StorageState | None]:
    """The cookies of a person with this role, who signed in with the link of ``headgate login``, once."""
    states: dict[Role | None, StorageState | None] = {None: None}

    def state(role: Role | None) -> StorageState | None:
        if role not in states and role is not None:
            with closing(browser.new_context()) as context:
                page = context.new_page()
                page.goto(world.sign_in_link(f"{role}@example.com", role))
                page.click("main button")
                page.wait_for_load_state()
                states[role] = context.storage_state()
        return states[role]

    return state


@pytest.fixture(scope="module")
def kept_window(
    instance: Instance, browser: Browser, signed_in: Callable[[Role | None], StorageState | None]
) -> Iterator[OpenWindow]:
    """``kept_window(role, look, script=True)``: as ``open_window``, for tests that only look at a page.

    The tests of a file have one for each kind. Its process then parses axe and the scripts of the pages once, which is
    a third of what such a test costs; each page is fetched whole, without a cache."""
    windows: dict[tuple[Role | None, Look, bool], Window] = {}

    def window(role: Role | None, look: Look = DESKTOP, *, script: bool = True) -> Window:
        kind = (role, look, script)
        if kind not in windows:
            context = _context(browser, signed_in(role), look, script=script)
            windows[kind] = Window(context, instance.runtime["api_url"])
            windows[kind].keep_no_cache()
        else:
            windows[kind].begin_anew(signed_in(role), look)
        return windows[kind]

    yield window
    for one in windows.values():
        one.close()


@pytest.fixture
def open_window(
    instance: Instance, browser: Browser, signed_in: Callable[[Role | None], StorageState | None]
) -> Iterator[OpenWindow]:
    """``open_window(role, look, script=True, zone="UTC")``; role None: nobody is signed in."""
    windows: list[Window] = []

    def open_one(
        role: Role | None = Role.ADMIN, look: Look = DESKTOP, *, script: bool = True, zone: str = "UTC"
    ) -> Window:
        context = _context(browser, signed_in(role), look, script=script, zone=zone)
        windows.append(Window(context, instance.runtime["api_url"]))
        return windows[-1]

    yield open_one
    for window in windows:
        window.close()


def _context(
    browser: Browser, state: StorageState | None, look: Look, *, script: bool, zone: str = "UTC"
) -> BrowserContext:
    context = browser.new_context(
        viewport={"width": look.width, "height": look.height},
        color_scheme=look.scheme,
        has_touch=look.is_phone,
        java_script_enabled=script,
        timezone_id=zone,
        storage_state=state,
    )
    context.set_default_timeout(20_000)
    return context
