"""``make screenshots``: the pictures of README.md and docs, of a running instance with calls as agents make them."""

import json
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Final

import httpx

from headgate.demo.certificates import write_service_certificate
from tests.browser.chromium import chromium
from tests.browser.window import DESKTOP, DESKTOP_DARK, PHONE, Look
from tests.e2e.clients import Administrator
from tests.e2e.instance import running

_IMAGES: Final = Path(__file__).parents[2] / "docs" / "images"
_SHOTS: Final[tuple[tuple[str, str, Look], ...]] = (
    ("inbox", "/inbox/{open}", DESKTOP),
    ("inbox-dark", "/inbox/{open}", DESKTOP_DARK),
    ("inbox-phone", "/inbox/{open}", PHONE),
)
_CALLS: Final = Path(__file__).parent / "screenshot_calls.json"


def fill(administrator: Administrator, api_url: str) -> dict[str, str]:
    """Calls of three agents, some of them decided. Returns the names that paths use."""
    keys: dict[str, str] = {}
    names: dict[str, str] = {}
    for call in json.loads(_CALLS.read_text()):
        if call["agent"] not in keys:
            keys[call["agent"]] = administrator.new_agent(call["agent"])["api_key"]["key"]
        body = {name: call[name] for name in ("tool", "operation", "params")} | {"context": {"reason": call["reason"]}}
        headers = {"x-agent-key": keys[call["agent"]]}
        answer = httpx.post(f"{api_url}/v1/actions", headers=headers, json=body, trust_env=False, timeout=30)
        assert answer.is_success, answer.text
        names["call"], approval_id = answer.json()["id"], answer.json()["approval_id"]
        if "decide" in call:
            decided = (
                administrator.approve(approval_id)
                if call["decide"] == "approve"
                else administrator.deny(approval_id, "Billing is frozen until Monday.")
            )
            assert decided.is_success, decided.text
        elif approval_id is not None:
            names["open"] = approval_id
    return names


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        root, _ = write_service_certificate(folder, "127.0.0.1")
        with running(folder, root) as instance, closing(Administrator(instance)) as administrator:
            api_url = instance.runtime["api_url"]
            names = fill(administrator, api_url)
            headers = {"authorization": f"Bearer {instance.runtime['admin_token']}"}
            _IMAGES.mkdir(exist_ok=True)
            with chromium() as browser:
                for image, path, look in _SHOTS:
                    context = browser.new_context(
                        viewport={"width": look.width, "height": look.height},
                        color_scheme=look.scheme,
                        extra_http_headers=headers,
                    )
                    page = context.new_page()
                    page.goto(api_url + path.format_map(names))
                    page.wait_for_timeout(500)
                    page.screenshot(path=_IMAGES / f"{image}.png")
                    context.close()


if __name__ == "__main__":
    main()
