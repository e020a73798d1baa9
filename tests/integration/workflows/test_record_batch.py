"""The record against the real database: what one agent sends large must not cost the others their calls."""

import asyncio
import base64
import os
from datetime import UTC, datetime

from headgate.actions.recording_store import ActionRow, RecordOutcome
from headgate.audit.model import SYSTEM, payload_text
from headgate.kernel.canonical_json import canonical_bytes
from headgate.kernel.ids import IdPrefix, new_id
from headgate.kernel.secrets import Secret
from headgate.workflows.record_batch import Recorder
from tests.integration.conftest import Cluster, Organization


def _row(organization: Organization, text: str) -> ActionRow:
    payload = payload_text(SYSTEM, {})
    return ActionRow(
        organization.org_id, 1, new_id(IdPrefix.ACTION), organization.agent_id, None, "proxy", "mail", "send", "denied",
        os.urandom(32), canonical_bytes({"params": {"text": text}}), b"{}", "low", None, datetime.now(UTC),
        None, None, None, None, payload, payload, None,
    )  # fmt: skip


async def test_large_requests_cost_small_ones_nothing(cluster: Cluster, organization: Organization) -> None:
    # Compressed and written together these take longer than a record may.
    large = base64.b64encode(os.urandom(6 << 20)).decode()
    recorder = Recorder(Secret(cluster.dsn("headgate_proxy")))
    await recorder.open()
    try:
        slow = [recorder.submit_action(_row(organization, large)) for _ in range(12)]
        quick = [recorder.submit_action(_row(organization, "x")) for _ in range(50)]
        async with asyncio.timeout(5):
            assert set(await asyncio.gather(*quick)) == {RecordOutcome.RECORDED}
        assert not all(future.done() for future in slow)
        assert set(await asyncio.gather(*slow)) == {RecordOutcome.RECORDED}
    finally:
        await recorder.close()
