"""The dashboard with a million recorded calls and a thousand open approval requests behind it.

The bar is 200 ms of server time a page, 300 ms to its first paint in a browser, and 1 s until others see a decision.

``python -m benchmarks.pages [--stored 1000000] [--rounds 50]``. Needs Chromium. Pages are asked for by every filter.
"""

import os
import statistics
import time
from collections.abc import Iterator
from typing import Any, Final

import psycopg
from playwright.sync_api import Browser, BrowserContext

from admin_api.access import ACCESS, Audience
from benchmarks.load import many_approvals
from benchmarks.load.instance import Instance
from benchmarks.load.list_pages import measure_lists
from benchmarks.load.many_approvals import OFTEN_AGENT, RARE_AGENT
from tests.browser.chromium import chromium

_FILTERS: Final = {
    "/activity": (
        "q=tool:tool_3", "q=tool:tool_40", "q=decision:deny", "q=status:pending_approval", f"q=agent:{OFTEN_AGENT}",
        f"q=agent:{RARE_AGENT}", "q=tool:tool_3+status:denied", "q=nowhere", "q=host:api.example.com", "q=method:POST",
        "q=path~refund", "q=operation:write", "q=operation:nowhere", "q=since:1h", "q=since:7d+until:24h",
        "q=since:1h+host:api.example.com",
    ),
    "/overview": ("range=1h", "range=7d", "range=30d"),
    "/audit": (f"agent_id={OFTEN_AGENT}",),
    "/inbox": (
        "view=mine", "view=decided", "tool=tool_3", "tool=tool_40", "risk=critical", "risk=low",
        f"agent={OFTEN_AGENT}", f"agent={RARE_AGENT}", f"view=decided&agent={RARE_AGENT}", "view=decided&tool=tool_40",
        "host=api.example.com", "group=bench", "group=bench&tool=tool_40",
    ),
}  # fmt: skip
_NEED_A_QUERY: Final = frozenset(("/connections/callback", "/traffic/compare"))
_LOADS: Final = 5
_DECISIONS: Final = 11
_FIRST_PAINT: Final = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime"


# Those of many_approvals, whose calls name them only.
_AGENTS: Final = """
    INSERT INTO agents (org_id, agent_id, name, status, created_at, updated_at)
    SELECT DISTINCT org_id, agent_id, 'Worker ' || right(agent_id, 2), 'active', now(), now() FROM actions
"""


def fill(connection: psycopg.Connection[Any], org_id: str, count: int) -> None:
    many_approvals.fill(connection, org_id, count)
    connection.execute(_AGENTS)


def paths(instance: Instance, _: int) -> Iterator[str]:
    """Every page that has one address, by its filters; and of those that have many, one."""
    for path in sorted(path for method, path in ACCESS if method == "GET" and _is_page(method, path)):
        if "{}" not in path and path not in _NEED_A_QUERY:
            yield path
            yield from (f"{path}?{query}" for query in _FILTERS.get(path, ()))
    newest = instance.api.get("/v1/approvals?status=pending&limit=1").raise_for_status().json()["data"][0]
    yield f"/inbox/{newest['id']}"
    yield f"/calls/{newest['action_id']}"
    yield "/admin/actions/values"  # the page of calls asks for it when its filter gets the focus


def _is_page(method: str, path: str) -> bool:
    return ACCESS[method, path].audience is Audience.PAGES


def in_a_browser(instance: Instance) -> None:
    """First paint of what a browser has never seen, and of what it has; and how long until another window knows."""
    with chromium() as browser:
        for path in paths(instance, 0):
            if "?" not in path and not path.startswith("/admin/"):
                cold = [_first_paint(_context(browser, instance), [path]) for _ in range(_LOADS)]
                warm = [_first_paint(_context(browser, instance), [path, path]) for _ in range(_LOADS)]
                print(
                    f"  {_median(cold)} first paint, {_median(warm)} with style sheet and script kept  {path}",
                    flush=True,
                )
        seen = [_until_seen(browser, instance) for _ in range(_DECISIONS)]
        print(f"  {_median(seen)} until another window shows a decision, load {os.getloadavg()[0]:.1f}")


def _context(browser: Browser, instance: Instance) -> BrowserContext:
    headers = {"authorization": f"Bearer {instance.runtime['admin_token']}"}
    return browser.new_context(
        base_url=instance.runtime["api_url"], extra_http_headers=headers, viewport={"width": 1440, "height": 900}
    )


def _first_paint(context: BrowserContext, path: list[str]) -> float:
    """Milliseconds after the navigation began, of the last of these pages."""
    page = context.new_page()
    for one in path:
        page.goto(one)
    page.wait_for_function(_FIRST_PAINT)
    found: float = page.evaluate(_FIRST_PAINT)
    context.close()
    return found


def _until_seen(browser: Browser, instance: Instance) -> float:
    """Milliseconds from the answer to a decision until the request's open page tells of it."""
    newest = instance.api.get("/v1/approvals?status=pending&limit=1").raise_for_status().json()["data"][0]["id"]
    context = _context(browser, instance)
    page = context.new_page()
    page.goto(f"/inbox/{newest}")
    page.locator("[data-live-state]").wait_for(state="visible")
    instance.api.post(f"/v1/approvals/{newest}/deny", json={"reason": "measured"}).raise_for_status()
    began = time.perf_counter()
    page.locator(".decide.closed").wait_for()
    taken = (time.perf_counter() - began) * 1000
    context.close()
    return taken


def _median(taken: list[float]) -> str:
    return f"{statistics.median(taken):7.1f} ms"


if __name__ == "__main__":
    measure_lists(__doc__, fill, paths, afterwards=in_a_browser)
