"""A browser's window that is watched: whatever goes wrong in it fails the test that opened it."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from playwright.sync_api import BrowserContext, ConsoleMessage, Page, Request, Response, StorageState

_AXE: Final = Path(__file__).parent / "node_modules" / "axe-core" / "axe.min.js"
"""`make tests` installs it."""
_RULES: Final = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
_REPORT_VIOLATIONS: Final = """addEventListener("securitypolicyviolation", (event) =>
  console.error("policy:", event.violatedDirective, event.blockedURI, event.sample))"""


@dataclass(frozen=True, slots=True)
class Look:
    """How somebody looks at a page."""

    name: str
    width: int
    height: int
    scheme: Literal["light", "dark"]
    is_phone: bool = False

    def __str__(self) -> str:
        return self.name


DESKTOP: Final = Look("desktop-light", 1440, 900, "light")
DESKTOP_DARK: Final = Look("desktop-dark", 1440, 900, "dark")
PHONE: Final = Look("phone-light", 390, 844, "light", is_phone=True)
TABLET: Final = Look("tablet-light", 768, 1024, "light", is_phone=True)
NARROW: Final = Look("narrow-light", 320, 640, "light", is_phone=True)
"""As wide as WCAG 2.2 (1.4.10) demands that a page can be read: a window of 1,280 px at a zoom of 400 %."""
PHONE_DARK: Final = Look("phone-dark", 390, 844, "dark", is_phone=True)


@dataclass
class Window:
    """``page`` is Playwright's. ``problems``: what no page may cause."""

    context: BrowserContext
    address: str
    page: Page = field(init=False)
    problems: list[str] = field(default_factory=list)
    fetched: list[Request] = field(default_factory=list, repr=False)

    def __post_init__(self) -> None:
        self.context.add_init_script(_REPORT_VIOLATIONS)
        self.context.on("console", self._said)
        self.context.on("weberror", lambda error: self._problem(f"an exception: {error.error}"))
        self.context.on("dialog", lambda dialog: (self._problem(f"a dialog: {dialog.message}"), dialog.dismiss()))
        self.context.on("request", self._sent)
        self.context.on("requestfinished", self._fetched)
        self.context.on("requestfailed", self._failed)
        self.context.on("response", self._answered)
        self.page = self.context.new_page()

    def open(self, path: str, *, status: int = 200) -> Page:
        answer = self.page.goto(self.address + path)
        assert answer is not None
        assert answer.status == status, f"{path}: {answer.status}, {answer.text()[:300]}"
        return self.page

    def keep_no_cache(self) -> None:
        """Every page is fetched whole, with its style sheets and scripts."""
        protocol = self.context.new_cdp_session(self.page)
        protocol.send("Network.enable")
        protocol.send("Network.setCacheDisabled", {"cacheDisabled": True})

    def begin_anew(self, state: StorageState | None, look: Look) -> None:
        """For another test: signed in as before, nothing is open, and nothing that happened before counts."""
        self.page.goto("about:blank")
        self.look(look)
        self.context.clear_cookies()
        if state is not None:
            self.context.add_cookies(state["cookies"])
        self.problems.clear()
        self.fetched.clear()

    def check(self) -> None:
        assert not self.problems, "\n".join(self.problems)

    def look(self, look: Look) -> None:
        """At the same page, at another size and in other colors."""
        self.page.set_viewport_size({"width": look.width, "height": look.height})
        self.page.emulate_media(color_scheme=look.scheme)

    def accessibility_violations(self) -> list[str]:
        """What axe finds against WCAG 2.2 A and AA."""
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(_AXE.read_text())
        options = {"runOnly": {"type": "tag", "values": _RULES}, "resultTypes": ["violations"]}
        found = self.page.evaluate("(options) => axe.run(document, options)", options)
        return [_described(one) for one in found["violations"]]

    def overflow_pixels(self) -> int:
        """By how much the page, or a part of it that scrolls down, is wider than it is shown; or the shell higher."""
        found: int = self.page.evaluate(
            "Math.max(...[document.documentElement, ...document.querySelectorAll('main, .pane')]"
            ".map((one) => one.scrollWidth - one.clientWidth),"
            "document.querySelector('body.shell') ? document.documentElement.scrollHeight - innerHeight : 0)"
        )
        return found

    def sideways_tables(self) -> list[str]:
        """The tables that are wider than the place that they stand in. The bytes of a body keep their lines."""
        found: list[str] = self.page.evaluate(
            "[...document.querySelectorAll('main table:not(.hex)')].filter((one) =>"
            " one.scrollWidth > one.clientWidth || one.clientWidth > one.parentElement.clientWidth)"
            ".map((one) => one.ariaLabel ?? one.innerText.slice(0, 80))"
        )
        return found

    def weight_bytes(self) -> int:
        """Of the page, its style sheets and its scripts, compressed as they were sent."""
        kept = [one for one in self.fetched if one.resource_type in ("document", "stylesheet", "script")]
        return sum(one.sizes()["responseBodySize"] for one in kept)

    def close(self) -> None:
        self.context.close()
        self.check()

    def _problem(self, text: str) -> None:
        self.problems.append(f"{self.page.url}: {text}")

    def _said(self, message: ConsoleMessage) -> None:
        # A status is looked at where the answer is.
        if message.type in ("error", "warning") and not message.text.startswith("Failed to load resource"):
            self._problem(f"console: {message.text}")

    def _sent(self, request: Request) -> None:
        if not request.url.startswith((self.address, "data:", "blob:")):
            self._problem(f"a request to {request.url}")

    def _fetched(self, request: Request) -> None:
        self.fetched.append(request)

    def _failed(self, request: Request) -> None:
        # A page that is left ends what it was waiting for.
        if request.failure != "net::ERR_ABORTED":
            self._problem(f"{request.url} failed: {request.failure}")

    def _answered(self, response: Response) -> None:
        if response.status >= 400 and not response.request.is_navigation_request():
            self._problem(f"{response.url} was answered with {response.status}")


def _described(violation: dict[str, Any]) -> str:
    nodes = [
        f"{node['html'][:160]} ({node['failureSummary'].splitlines()[-1].strip()})" for node in violation["nodes"][:4]
    ]
    return f"{violation['id']}: {violation['help']}: " + " | ".join(nodes)
