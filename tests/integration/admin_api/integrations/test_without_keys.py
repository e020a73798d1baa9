"""The master key is another one: what needs a secret refuses and says so, nothing is decided, the rest goes on."""

import base64
import json
import os
from pathlib import Path

from tests.integration.admin_api.integrations.conftest import Board
from tests.integration.admin_api.integrations.fake_linear import KEY, FakeLinear
from tests.integration.outgoing.fake_platform import start


async def test_another_master_key(world, board: Board, start_api, tmp_path: Path) -> None:
    linear = await start(world, FakeLinear)
    linear.add_user("ada", "ada@example.com")
    await board.user("ada")
    await board.set("linear", linear.document())
    asked = await board.ask()
    await board.work()
    (ticket,) = linear.tickets.values()

    keys = tmp_path / "other" / "master-keys.json"
    keys.parent.mkdir(mode=0o700)
    # A data directory of its own, as on another machine.
    keys.write_text(json.dumps({"current": "k9", "keys": {"k9": base64.b64encode(os.urandom(32)).decode()}}))
    keys.chmod(0o600)
    other = await start_api(master_keys_file=keys, data_dir=keys.parent)
    async with other.client() as client:
        body, headers = linear.moved(ticket, "Approved", "ada")
        refused = await client.post(board.path, content=body, headers=headers)
    assert refused.status_code == 503
    assert "master key" in refused.json()["error"]["message"]
    assert await asked.status() == "pending"
    async with other.as_admin(board.gate.org_id) as admin:
        shown = await admin.get("/admin/settings/linear")
        assert (shown.status_code, shown.json()["has_api_key"]) == (200, True)
        assert (await admin.post("/admin/settings/linear/test")).status_code == 503
        given = await admin.put("/admin/settings/linear", json=linear.document())
        assert given.status_code == 200
        assert (await admin.post("/admin/settings/linear/test")).json()["account"] == "Headgate"
    assert KEY not in given.text
    # With the key that it was sealed with, the same delivery counts: nothing was remembered of it.
    async with other.client() as client:
        decided = await client.post(board.path, content=body, headers=headers)
    assert decided.json() == {"outcome": "decided"}
