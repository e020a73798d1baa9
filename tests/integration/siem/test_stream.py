"""Events on their way to collections that really listen: in order, at least once, and whatever they do."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from headgate.audit.change import Change
from headgate.audit.model import SYSTEM, Actor, ActorType, Event, EventFilter, EventType
from headgate.audit.store import append, list_events
from headgate.db.database import Database
from headgate.journal.apply import apply_before_reading
from headgate.organizations.change import begin_change
from headgate.organizations.model import SettingName
from headgate.organizations.store import put_setting
from headgate.outgoing.client import OutgoingClient
from headgate.outgoing.trust import trusted_roots
from headgate.siem.senders import Senders
from headgate.siem.service import put_destinations
from headgate.siem.store import StreamState, load_states
from headgate.siem.stream import StreamEvents
from headgate.vault.service import Vault
from tests.integration.outgoing.receivers import NameServer, Receivers, answering, receivers, write_certificate

_ADA = Actor(ActorType.USER, "usr_1", "ada@example.com", "192.0.2.1")


@dataclass
class Collector:
    """A syslog server: reads octet-counted frames until the other side ends, then closes. ``dying_after``: so many
    bytes into a connection it is gone, with the rest unread."""

    port: int = 0
    messages: list[bytes] = field(default_factory=list)
    connections: int = 0
    dying_after: int | None = None

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            if self.dying_after is not None:
                await reader.readexactly(self.dying_after)
                writer.transport.abort()
                return
            while length := (await reader.readuntil(b" ") if not reader.at_eof() else b""):
                self.messages.append(await reader.readexactly(int(length)))
        except asyncio.IncompleteReadError as error:
            assert error.partial == b""
        finally:
            writer.close()

    def told(self) -> list[dict[str, Any]]:
        return [json.loads(one[one.index(b"{") :]) for one in self.messages]


@dataclass
class Streaming:
    """One organization, and the worker's part for it, step by step."""

    org_id: str
    api: Database
    worker: Database
    vault: Vault
    server: psycopg.Connection[tuple[object, ...]]
    folder: Path
    trust: ssl.SSLContext
    ahead: timedelta = field(default_factory=timedelta)

    def clock(self) -> datetime:
        return datetime.now(UTC) + self.ahead

    async def set(self, **destinations: dict[str, Any]) -> None:
        change = Change(self.org_id, _ADA, "usr_1", self.clock())
        await apply_before_reading(self.api, self.org_id)
        async with begin_change(self.api, change) as changing:
            await put_destinations(changing, {"destinations": dict(destinations)}, self.vault)

    async def record(self, *numbers: int) -> None:
        events = [Event(EventType.POLICY_UPDATED, self.clock(), _ADA, {"n": number}) for number in numbers]
        async with self.api.transaction(self.org_id) as connection:
            await append(connection, self.org_id, events)
        await apply_before_reading(self.api, self.org_id)

    async def run(self, *, later: timedelta = timedelta(0)) -> int:
        """A round of the loop, ``later``, with whatever waits for its next try being due."""
        self.ahead += later
        self.server.execute("UPDATE event_streams SET retry_at = clock_timestamp() WHERE org_id = %s", [self.org_id])
        client = OutgoingClient(self.trust, NameServer([["127.0.0.1"]]))
        senders = Senders(client, self.trust, NameServer([["127.0.0.1"]]), self.folder)
        return await StreamEvents(self.worker, senders, self.vault, self.clock, "1.0").run()

    async def state(self) -> StreamState:
        async with self.api.transaction(self.org_id) as connection:
            (state,) = await load_states(connection, self.org_id)
        return state

    async def events(self, event_type: str) -> list[Any]:
        await apply_before_reading(self.api, self.org_id)
        async with self.api.transaction(self.org_id) as connection:
            return list((await list_events(connection, self.org_id, EventFilter(event_type=event_type))).events)


@pytest.fixture
async def streaming(
    organization, api_database: Database, worker_database: Database, superuser, tmp_path: Path
) -> Streaming:
    allowlist = '{"destinations":[{"host":"siem.example","private":true}]}'
    async with api_database.transaction(organization.org_id) as connection:
        await put_setting(connection, organization.org_id, SettingName.ALLOWLIST, allowlist, None)
    trust = trusted_roots(write_certificate(tmp_path, "siem.example"))
    return Streaming(
        organization.org_id, api_database, worker_database, Vault(tmp_path / "keys.json"), superuser,
        tmp_path / "siem", trust,
    )  # fmt: skip


@pytest.fixture
async def world() -> AsyncIterator[Receivers]:
    async with receivers() as made:
        yield made


async def collecting(collector: Collector, tls: ssl.SSLContext | None = None) -> asyncio.Server:
    server = await asyncio.start_server(collector.serve, "127.0.0.1", collector.port, ssl=tls)
    collector.port = server.sockets[0].getsockname()[1]
    return server


def numbers(told: list[dict[str, Any]]) -> list[Any]:
    return [one["unmapped"]["data"]["n"] for one in told if one["metadata"]["event_code"] == "policy.updated"]


@pytest.mark.parametrize("is_tls", [False, True])
async def test_syslog_gets_everything_in_order(streaming: Streaming, tmp_path: Path, is_tls: bool) -> None:
    tls = None
    if is_tls:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(tmp_path / "siem.example.pem")
    collector = Collector()
    async with await collecting(collector, tls):
        scheme = "syslog+tls" if is_tls else "syslog+tcp"
        await streaming.set(logs={"address": f"{scheme}://siem.example:{collector.port}"})
        await streaming.record(*range(700))
        while await streaming.run():
            pass
    assert numbers(collector.told()) == list(range(700))
    first = collector.told()[0]
    assert first["metadata"]["event_code"] == "setting.changed"
    assert first["src_endpoint"] == {"ip": "192.0.2.1"}
    assert collector.messages[1].split(b" ")[5] == b"policy.updated"
    assert (await streaming.state()).failing_since is None


async def test_http_gets_lines_with_its_authorization(streaming: Streaming, world: Receivers) -> None:
    receiver = await world.start(answering(204, b""))
    address = f"http://siem.example:{receiver.port}/ingest?index=1"
    await streaming.set(hec={"address": address, "authorization": "Splunk t0ken"})
    await streaming.record(1, 2)
    assert await streaming.run() == 3
    head, _, body = receiver.requests[0].partition(b"\r\n\r\n")
    assert head.startswith(b"POST /ingest?index=1 HTTP/1.1\r\n")
    assert b"\r\nAuthorization: Splunk t0ken" in head
    assert numbers([json.loads(line) for line in body.splitlines()]) == [1, 2]
    (changed,) = await streaming.events("setting.changed")
    assert "t0ken" not in json.dumps(changed.data)


async def test_a_file_is_appended_to(streaming: Streaming) -> None:
    await streaming.set(kept={"address": "file:", "from": "beginning"})
    await streaming.record(1)
    await streaming.run()
    await streaming.record(2)
    await streaming.run()
    lines = (streaming.folder / streaming.org_id / "kept.jsonl").read_text().splitlines()
    assert numbers([json.loads(line) for line in lines]) == [1, 2]


async def test_down_for_an_hour_loses_nothing_and_raises_an_alarm(streaming: Streaming) -> None:
    collector = Collector()
    async with await collecting(collector):
        await streaming.set(logs={"address": f"syslog+tcp://siem.example:{collector.port}"})
        await streaming.record(0)
        await streaming.run()
    for minute in range(1, 61):
        if minute % 20 == 0:
            await streaming.record(minute)
        assert await streaming.run(later=timedelta(minutes=1)) == 0
    down = await streaming.state()
    assert down.failing_since is not None
    assert "nothing answers" in (down.failure or "") or "Connect call failed" in (down.failure or "")
    (alarm,) = await streaming.events("event_stream.failed")
    assert (alarm.actor, alarm.data["name"]) == (SYSTEM, "logs")
    async with await collecting(collector):
        while await streaming.run():
            pass
        await streaming.events("event_stream.recovered")  # it is sealed by now
        await streaming.run()
    told = collector.told()
    assert numbers(told) == [0, 20, 40, 60]
    codes = [one["metadata"]["event_code"] for one in told]
    assert codes.count("event_stream.failed") == codes.count("event_stream.recovered") == 1
    assert len({one["metadata"]["uid"] for one in told}) == len(told)
    up = await streaming.state()
    assert (up.failing_since, up.failure, up.alarmed_at) == (None, None, None)


async def test_what_broke_off_is_sent_again_under_the_same_identifiers(streaming: Streaming) -> None:
    collector = Collector(dying_after=200)
    async with await collecting(collector):
        await streaming.set(logs={"address": f"syslog+tcp://siem.example:{collector.port}"})
        await streaming.record(*range(450))
        assert await streaming.run() == 0
        collector.dying_after = None
        assert await streaming.run() == 451
    assert numbers(collector.told()) == list(range(450))


@pytest.mark.parametrize("status", [302, 400, 401, 500, 503])
async def test_only_a_success_moves_on(streaming: Streaming, world: Receivers, status: int) -> None:
    receiver = await world.start(answering(status))
    await streaming.set(hec={"address": f"http://siem.example:{receiver.port}/"})
    await streaming.record(1)
    assert await streaming.run() == 0
    assert (await streaming.state()).failure == f"it answered {status}"
    receiver.answer = answering(200)
    assert await streaming.run() == 2
    bodies = [one.partition(b"\r\n\r\n")[2] for one in receiver.requests]
    assert bodies[0] == bodies[1]


async def test_a_destination_that_is_not_permitted_is_not_called(streaming: Streaming) -> None:
    collector = Collector()
    async with await collecting(collector):
        await streaming.set(logs={"address": f"syslog+tcp://other.example:{collector.port}"})
        await streaming.record(1)
        assert await streaming.run() == 0
    assert "allowlist" in ((await streaming.state()).failure or "")
    assert collector.connections == 0


async def test_a_stranger_behind_the_name_gets_nothing(streaming: Streaming, tmp_path: Path) -> None:
    other = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    other.load_cert_chain(write_certificate(tmp_path, "stranger.example"))
    collector = Collector()
    async with await collecting(collector, other):
        await streaming.set(logs={"address": f"syslog+tls://siem.example:{collector.port}"})
        await streaming.record(1)
        assert await streaming.run() == 0
    assert "certificate" in ((await streaming.state()).failure or "")
    assert collector.messages == []


async def test_one_that_is_down_keeps_no_other_waiting(streaming: Streaming) -> None:
    collector, gone = Collector(), Collector()
    async with await collecting(gone):
        pass
    async with await collecting(collector):
        await streaming.set(
            gone={"address": f"syslog+tcp://siem.example:{gone.port}"},
            kept={"address": "file:"},
            logs={"address": f"syslog+tcp://siem.example:{collector.port}"},
        )
        await streaming.record(1)
        assert await streaming.run() == 4
    assert numbers(collector.told()) == [1]


async def test_switched_off_and_on_again_leaves_no_gap(streaming: Streaming) -> None:
    kept = {"address": "file:"}
    await streaming.set(kept=kept)
    await streaming.record(1)
    await streaming.run()
    await streaming.set(kept=kept | {"enabled": False})
    await streaming.record(2)
    assert await streaming.run() == 0
    await streaming.set(kept=kept)
    await streaming.run()
    lines = (streaming.folder / streaming.org_id / "kept.jsonl").read_text().splitlines()
    assert numbers([json.loads(line) for line in lines]) == [1, 2]


async def test_without_a_folder_nothing_is_written(streaming: Streaming) -> None:
    await streaming.set(kept={"address": "file:"})
    await streaming.record(1)
    without = replace(streaming, folder=None)  # type: ignore[arg-type] - as a worker without the setting
    assert await without.run() == 0
    assert "HEADGATE_SIEM_FOLDER" in ((await streaming.state()).failure or "")


async def test_a_secret_does_not_follow_to_another_address(streaming: Streaming, world: Receivers) -> None:
    first, second = await world.start(answering(200)), await world.start(answering(200))
    await streaming.set(hec={"address": f"http://siem.example:{first.port}/", "authorization": "Bearer s3cret"})
    await streaming.set(hec={"address": f"http://siem.example:{second.port}/"})
    await streaming.record(1)
    await streaming.run()
    assert first.requests == []
    assert b"s3cret" not in second.requests[0]


async def test_another_organization_gets_none_of_it(
    streaming: Streaming, new_organization, api_database: Database
) -> None:
    stranger = replace(streaming, org_id=new_organization().org_id)
    await stranger.set(kept={"address": "file:", "from": "beginning"})
    await streaming.record(1)
    await stranger.record(2)
    await stranger.run()
    text = (streaming.folder / stranger.org_id / "kept.jsonl").read_text()
    assert streaming.org_id not in text


async def test_what_the_chain_does_not_lead_to_is_told_as_that_and_not_as_an_event(streaming: Streaming) -> None:
    """Written by the database's owner where the chain was yet to come to, and into what is there."""
    await streaming.set(kept={"address": "file:", "from": "beginning"})
    await streaming.record(1, 2)
    streaming.server.execute(
        "INSERT INTO audit_events SELECT org_id, seq + 1, 'evt_forged', event_type, action_id, agent_id, created_at,"
        " sealed_at, salt, replace(payload, '\"n\":2', '\"n\":666') FROM audit_events WHERE org_id = %s"
        " ORDER BY seq DESC LIMIT 1",
        [streaming.org_id],
    )
    await streaming.record(3, 4)
    streaming.server.execute(
        "UPDATE audit_events SET payload = replace(payload, '\"n\":4', '\"n\":999') WHERE org_id = %s",
        [streaming.org_id],
    )
    streaming.server.execute(
        "UPDATE audit_events SET created_at = 'infinity' WHERE org_id = %s AND event_type = 'setting.changed'",
        [streaming.org_id],
    )
    while await streaming.run():
        pass
    lines = (streaming.folder / streaming.org_id / "kept.jsonl").read_text().splitlines()
    told = [json.loads(line) for line in lines]
    assert numbers(told) == [1, 2, 3]
    assert [one["metadata"]["sequence"] for one in told] == [1, 2, 3, 4, 4, 5]
    alarms = [one for one in told if one["metadata"]["event_code"] == "record.altered"]
    assert [(one["class_uid"], one["severity"], one["status"]) for one in alarms] == [
        (6008, "Critical", "Failure")
    ] * 3  # fmt: skip
    assert [one["unmapped"]["data"]["fault"] for one in alarms] == [
        "column_changed", "column_changed", "payload_changed",
    ]  # fmt: skip
    assert 'now is "infinity"' in alarms[0]["message"]
    assert 'now is "evt_forged"' in alarms[1]["message"]
    assert len({one["metadata"]["uid"] for one in told}) == len(told)
