"""``make screenshots``: the pictures of README.md and docs, of a running instance with calls as agents make them."""

import json
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, Final

import httpx

from headgate.demo.certificates import write_service_certificate
from headgate.demo.service import InvoiceService
from headgate.kernel.public_roots import public_roots
from tests.browser.chromium import chromium
from tests.browser.window import DESKTOP, DESKTOP_DARK, PHONE, Look
from tests.e2e.clients import Administrator, Agent
from tests.e2e.instance import Instance, running
from tests.e2e.waiting import wait_for

_IMAGES: Final = Path(__file__).parents[2] / "docs" / "images"
_SHOTS: Final[tuple[tuple[str, str, Look], ...]] = (
    ("inbox", "/inbox/{open}", DESKTOP),
    ("inbox-dark", "/inbox/{open}", DESKTOP_DARK),
    ("inbox-phone", "/inbox/{open}", PHONE),
    ("overview", "/overview", DESKTOP),
    ("activity", "/activity", DESKTOP),
    ("call", "/calls/{call}", DESKTOP_DARK),
    ("policy", "/policies/{policy}", DESKTOP),
)
_CALLS: Final = Path(__file__).parent / "screenshot_calls.json"


class Calls:
    """Calls of three agents, some of them decided; the last waits. ``names``: what paths name."""

    def __init__(self, instance: Instance, administrator: Administrator, service: InvoiceService) -> None:
        self.names = {"policy": administrator.get("/admin/policies")["data"][0]["id"]}
        self._instance = instance
        self._administrator = administrator
        self._service = service
        self._agents: dict[str, Agent] = {}
        for call in json.loads(_CALLS.read_text()):
            if "method" in call:
                self._intercepted(call)
            else:
                self._submitted(call)

    def close(self) -> None:
        """Whoever still waits is told no."""
        for one in self._administrator.get("/v1/approvals", status="pending")["data"]:
            self._administrator.deny(one["id"], "the pictures are taken")
        for agent in self._agents.values():
            agent.close()

    def _agent(self, name: str) -> Agent:
        if name not in self._agents:
            key = self._administrator.new_agent(name)["api_key"]["key"]
            self._agents[name] = Agent(self._instance, key=key)
        return self._agents[name]

    def _intercepted(self, call: dict[str, Any]) -> None:
        agent, address = self._agent(call["agent"]), self._service.url + call["path"]
        if "json" not in call:
            agent.call(call["method"], address)
            return
        answer = agent.call_later(call["method"], address, json=call["json"])
        waiting = wait_for(lambda: self._pending(call["path"]), "the call is held")
        if "decide" in call:
            self._administrator.approve(waiting["id"])
            self.names["call"] = waiting["action_id"]
            assert answer.result(60).is_success
        else:
            self.names["open"] = waiting["id"]

    def _pending(self, path: str) -> dict[str, Any] | None:
        found = self._administrator.get("/v1/approvals", status="pending")["data"]
        return next((one for one in found if one["action"]["params"].get("path") == path), None)

    def _submitted(self, call: dict[str, Any]) -> None:
        body = {name: call[name] for name in ("tool", "operation", "params")} | {"context": {"reason": call["reason"]}}
        headers = {"x-agent-key": self._agent(call["agent"]).key}
        url = f"{self._instance.runtime['api_url']}/v1/actions"
        answer = httpx.post(url, verify=public_roots(), headers=headers, json=body, trust_env=False, timeout=30)
        assert answer.is_success, answer.text
        if "decide" in call:
            self._administrator.deny(answer.json()["approval_id"], "Billing is frozen until Monday.")


@contextmanager
def filled() -> Iterator[tuple[Instance, Calls]]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        root, certificate = write_service_certificate(folder, "127.0.0.1")
        service = InvoiceService(certificate)
        service.start()
        stack.callback(service.stop)
        instance = stack.enter_context(running(folder, root, HEADGATE_HOLD_SECONDS="90"))
        administrator = stack.enter_context(closing(Administrator(instance)))
        administrator.allow_destinations({"host": "127.0.0.1", "private": True})
        yield instance, stack.enter_context(closing(Calls(instance, administrator, service)))


def main() -> None:
    _IMAGES.mkdir(exist_ok=True)
    with filled() as (instance, calls), chromium() as browser:
        headers = {"authorization": f"Bearer {instance.runtime['admin_token']}"}
        for image, path, look in _SHOTS:
            size = {"width": look.width, "height": look.height}
            context = browser.new_context(viewport=size, color_scheme=look.scheme, extra_http_headers=headers)
            page = context.new_page()
            page.goto(instance.runtime["api_url"] + path.format_map(calls.names))
            page.wait_for_timeout(500)
            page.screenshot(path=_IMAGES / f"{image}.png")
            context.close()


if __name__ == "__main__":
    main()
