"""Checkpoints on their way to a folder, a locked bucket, an endpoint, a time-stamp authority and a witness."""

import base64
import hashlib
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import boto3
import httpx
import psycopg
import pytest
from moto.server import ThreadedMotoServer
from msgspec.structs import replace

from headgate.audit.model import EventFilter
from headgate.audit.store import list_events
from headgate.db.database import Database
from headgate.evidence.attestation_store import AttestationKind, attestations_of
from headgate.evidence.checkpoint import cosigned_at, parse_checkpoint
from headgate.evidence.checkpointer import Checkpointer
from headgate.evidence.export_store import ExportState, load_exports
from headgate.evidence.export_targets import parse_targets
from headgate.evidence.exporter import Exporter
from headgate.evidence.note import VerifierKey, parse_note, parse_verifier_key
from headgate.evidence.senders import open_export_client
from headgate.evidence.time_stamp import query, verified_time
from headgate.evidence.tree_store import list_checkpoints
from headgate.journal.apply import apply_before_reading
from headgate.kernel.clock import system_clock
from headgate.kernel.errors import ValidationError
from headgate.kernel.public_roots import public_roots
from tests.free_port import free_port
from tests.http_server import any_server, http_server
from tests.integration.evidence.receivers import TimeStampAuthority

type Export = Callable[[str], Exporter]


@pytest.fixture
async def exporter(worker_database: Database) -> AsyncIterator[Export]:
    async with open_export_client() as client:
        yield lambda text: Exporter(worker_database, client, parse_targets(text)[0], system_clock)


@pytest.fixture
async def three(checkpointer: Checkpointer, record, organization, api_database: Database) -> list[str]:
    """Checkpoints of 4, 8 and 12 events."""
    for _ in range(3):
        await record(4)
        assert await checkpointer.checkpoint(organization.org_id)
    async with api_database.transaction(organization.org_id) as connection:
        return [one.note for one in await list_checkpoints(connection, organization.org_id)]


async def _state(database: Database, org_id: str) -> ExportState:
    async with database.transaction(org_id) as connection:
        (state,) = await load_exports(connection, org_id)
    return state


def _due_now(superuser: psycopg.Connection[tuple[object, ...]], org_id: str) -> None:
    superuser.execute("UPDATE audit_exports SET retry_at = '-infinity' WHERE org_id = %s", [org_id])


async def test_a_folder_has_every_checkpoint_and_never_another_one(
    exporter: Export, three: list[str], organization, tmp_path: Path, api_database: Database
) -> None:
    folder = tmp_path / "kept"
    to_folder = exporter(f"file://{folder}")
    assert await to_folder.export(organization.org_id) == 3
    assert await to_folder.export(organization.org_id) == 0
    files = sorted((folder / organization.org_id).iterdir())
    assert [one.name for one in files] == [f"{size:015d}.checkpoint" for size in (4, 8, 12)]
    assert [one.read_text() for one in files] == three


async def test_a_file_that_is_there_with_another_checkpoint_is_an_alarm_and_not_replaced(
    exporter: Export, three: list[str], organization, tmp_path: Path, api_database: Database
) -> None:
    path = tmp_path / "kept" / organization.org_id / f"{8:015d}.checkpoint"
    path.parent.mkdir(parents=True)
    path.write_text("another")
    assert await exporter(f"file://{tmp_path / 'kept'}").export(organization.org_id) == 1
    assert "holds another checkpoint" in ((await _state(api_database, organization.org_id)).failure or "")
    assert path.read_text() == "another"


class Bucket(NamedTuple):
    """``evidence``, made with object lock, on a server of its own."""

    client: Any
    address: str


@pytest.fixture
def bucket() -> Iterator[Bucket]:
    server = ThreadedMotoServer(port=0)
    server.start()
    try:
        host, port = server.get_host_and_port()
        client = boto3.client(
            "s3", endpoint_url=f"http://{host}:{port}", region_name="us-east-1", aws_access_key_id="key",
            aws_secret_access_key="s/ecret",
        )  # fmt: skip
        client.create_bucket(Bucket="evidence", ObjectLockEnabledForBucket=True)
        yield Bucket(client, f"s3+http://key:s%2Fecret@{host}:{port}/evidence/headgate?retain_days=30")
        client.close()
    finally:
        server.stop()


async def test_a_bucket_holds_them_locked(exporter: Export, three: list[str], organization, bucket: Bucket) -> None:
    to_bucket = exporter(bucket.address)
    assert "ecret" not in to_bucket.target.name
    assert await to_bucket.export(organization.org_id) == 3
    key = f"headgate/{organization.org_id}/{12:015d}.checkpoint"
    stored = bucket.client.get_object(Bucket="evidence", Key=key)
    assert stored["Body"].read().decode() == three[2]
    assert stored["ObjectLockMode"] == "COMPLIANCE"
    left = stored["ObjectLockRetainUntilDate"] - datetime.now(UTC)
    assert timedelta(days=29) < left <= timedelta(days=30)


async def test_what_lies_in_a_bucket_already_counts_where_it_is_the_same(
    exporter: Export, three: list[str], organization, bucket: Bucket, superuser, api_database: Database
) -> None:
    """The answer to a try was lost."""
    to_bucket = exporter(bucket.address)
    assert await to_bucket.export(organization.org_id) == 3
    superuser.execute("DELETE FROM audit_exports WHERE org_id = %s", [organization.org_id])
    assert await to_bucket.export(organization.org_id) == 3
    assert (await _state(api_database, organization.org_id)).size == 12


async def test_what_lies_in_a_bucket_already_and_is_another_checkpoint_is_an_alarm(
    exporter: Export, three: list[str], organization, bucket: Bucket, superuser, api_database: Database
) -> None:
    org_id = organization.org_id
    key = f"headgate/{org_id}/{8:015d}.checkpoint"
    bucket.client.put_object(Bucket="evidence", Key=key, Body=b"another", ContentMD5=_md5(b"another"))
    later = replace(exporter(bucket.address), clock=lambda: datetime.now(UTC) + timedelta(hours=1))
    assert await later.export(org_id) == 1
    state = await _state(api_database, org_id)
    assert state.failure == f"{org_id}/{8:015d}.checkpoint is there already, and holds another checkpoint"
    assert state.size == 4
    assert state.alarmed_at is not None
    assert bucket.client.get_object(Bucket="evidence", Key=key)["Body"].read() == b"another"
    bucket.client.delete_object(Bucket="evidence", Key=key)
    _due_now(superuser, org_id)
    assert await later.export(org_id) == 2


async def test_what_lies_there_and_may_not_be_read_is_not_taken_for_the_same(
    exporter: Export, three: list[str], organization, api_database: Database
) -> None:
    def answer(method: str, path: str, body: bytes) -> tuple[int, str, bytes]:
        return (412 if method == "PUT" else 403), "application/xml", b"<Error/>"

    with any_server(answer) as url:
        address = url.replace("http://", "s3+http://key:secret@")
        assert await exporter(f"{address}/evidence/headgate").export(organization.org_id) == 0
    assert "s3:GetObject is needed): answered 403" in ((await _state(api_database, organization.org_id)).failure or "")


def _md5(content: bytes) -> str:
    return base64.b64encode(hashlib.md5(content, usedforsecurity=False).digest()).decode()


async def test_an_endpoint_that_is_down_loses_nothing_raises_an_alarm_and_catches_up(
    exporter: Export,
    three: list[str],
    organization,
    superuser: psycopg.Connection[tuple[object, ...]],
    api_database: Database,
    checkpointer: Checkpointer,
    record,
) -> None:
    org_id, received = organization.org_id, list[str]()

    def take(path: str, body: bytes) -> tuple[int, str, bytes]:
        received.append(body.decode())
        return 204, "text/plain", b""

    with http_server(take) as url:
        pass  # it was there once, and is not any more
    down = exporter(f"{url}/checkpoints")
    later = replace(down, clock=lambda: datetime.now(UTC) + timedelta(hours=1))
    assert await down.export(org_id) == 0
    state = await _state(api_database, org_id)
    assert (state.size, state.alarmed_at) == (0, None)
    assert state.failing_since is not None
    [(retried_later,)] = superuser.execute(
        "SELECT retry_at > failing_since FROM audit_exports WHERE org_id = %s", [org_id]
    ).fetchall()
    assert retried_later, "not again at once"
    for _ in range(2):
        _due_now(superuser, org_id)
        assert await later.export(org_id) == 0
    await apply_before_reading(api_database, org_id)
    async with api_database.transaction(org_id) as connection:
        alarms = await list_events(connection, org_id, EventFilter(event_type="checkpoint.export_failed"))
    assert len(alarms.events) == 1, "one alarm for one outage"
    assert alarms.events[0].data["target"] == down.target.name
    await record(3)
    assert await checkpointer.checkpoint(org_id)
    with http_server(take, port=int(url.rpartition(":")[2])):
        _due_now(superuser, org_id)
        assert await down.export(org_id) == 4
    assert received[:3] == three
    assert len(received) == 4
    state = await _state(api_database, org_id)
    assert (state.failing_since, state.failure, state.alarmed_at) == (None, None, None)
    await apply_before_reading(api_database, org_id)
    async with api_database.transaction(org_id) as connection:
        over = await list_events(connection, org_id, EventFilter(event_type="checkpoint.export_recovered"))
    assert len(over.events) == 1


async def _due(exporter: Exporter) -> list[str]:
    from headgate.evidence.export_store import exports_due  # noqa: PLC0415 - used once

    async with exporter.database.across_organizations() as connection:
        return await exports_due(connection, exporter.target.name)


async def test_an_answer_that_is_no_success_is_a_failure(
    exporter: Export, three: list[str], organization, api_database: Database
) -> None:
    with http_server(lambda path, body: (500, "text/plain", b"broken")) as url:
        assert await exporter(url).export(organization.org_id) == 0
    assert "answered 500: broken" in ((await _state(api_database, organization.org_id)).failure or "")


async def test_a_time_stamp_is_of_the_newest_checkpoint_and_verifies_by_hand(
    exporter: Export, three: list[str], organization, tmp_path: Path, api_database: Database
) -> None:
    authority = TimeStampAuthority(tmp_path / "tsa")
    began = datetime.now(UTC).replace(microsecond=0)
    with http_server(authority.answer) as url:
        to_authority = exporter(f"tsa+{url}/tsa")
        assert await to_authority.export(organization.org_id) == 1
        assert organization.org_id not in await _due(to_authority), "once an hour"
    async with api_database.transaction(organization.org_id) as connection:
        (stamp,) = await attestations_of(connection, organization.org_id, 12)
    assert (stamp.kind, stamp.name) == (AttestationKind.TIMESTAMP, "127.0.0.1")
    body = parse_checkpoint(parse_note(three[2])).body()
    assert authority.verifies(base64.b64decode(stamp.document), body)
    assert not authority.verifies(base64.b64decode(stamp.document), body.replace("\n12\n", "\n13\n"))
    answer, roots = base64.b64decode(stamp.document), authority.root.read_bytes()
    assert began <= verified_time(answer, body, roots) <= datetime.now(UTC)
    other = TimeStampAuthority(tmp_path / "other").root.read_bytes()
    for changed in ((answer, body + "\n", roots), (answer, body, other), (answer, body, b""), (b"x", body, roots)):
        with pytest.raises(ValidationError):
            verified_time(*changed)


async def test_a_time_stamp_of_something_else_is_not_taken(
    exporter: Export, three: list[str], organization, tmp_path: Path, api_database: Database
) -> None:
    authority = TimeStampAuthority(tmp_path / "tsa")
    (authority.folder / "other").write_text("other")
    subprocess.run(
        ["openssl", "ts", "-query", "-data", "other", "-sha256", "-cert", "-no_nonce", "-out", "other.tsq"],
        cwd=authority.folder, check=True, capture_output=True,
    )  # fmt: skip
    other = (authority.folder / "other.tsq").read_bytes()
    kept: list[bytes] = []

    def older(path: str, body: bytes) -> tuple[int, str, bytes]:
        """Of the same checkpoint, and the answer to a request before."""
        kept.append(body)
        return authority.answer(path, kept[0])

    def padded(path: str, body: bytes) -> tuple[int, str, bytes]:
        status, content_type, stamp = authority.answer(path, body)
        return status, content_type, stamp + b"\x00"

    kept.append(query(parse_checkpoint(parse_note(three[2])).body()).as_bytes())
    for answer in (
        lambda path, body: authority.answer(path, other),
        lambda path, body: (200, "text/plain", b"no"),
        lambda path, body: (200, "text/plain", bytes.fromhex("3003020102")),
        older,
        padded,
    ):
        with http_server(answer) as url:
            assert await exporter(f"tsa+{url}").export(organization.org_id) == 0
    async with api_database.transaction(organization.org_id) as connection:
        assert await attestations_of(connection, organization.org_id, 12) == []
        failures = sorted(one.failure or "" for one in await load_exports(connection, organization.org_id))
    expected = (
        "not DER: a value is longer than",
        "not DER: there are bytes behind",
        "not an answer of a time-stamp authority",
        "the time stamp is of something else",
        "the time stamp is the answer to another request",
    )
    assert [one[: len(start)] for one, start in zip(failures, expected, strict=True)] == [*expected]


async def test_with_roots_the_authority_must_be_one_of_theirs_and_one_for_time_stamps(
    exporter: Export, three: list[str], organization, tmp_path: Path, api_database: Database
) -> None:
    authority, other = TimeStampAuthority(tmp_path / "tsa"), TimeStampAuthority(tmp_path / "other")
    for number, (answer, roots, taken, reason) in enumerate(
        (
            (authority.answer_of_no_authority, authority.root, 0, "unsuitable certificate purpose"),
            (authority.answer, other.root, 0, "does not verify"),
            (authority.answer, authority.root, 1, None),
        )
    ):
        with http_server(answer) as url:
            address = f"tsa+{url}/{number}?roots={quote(str(roots))}"
            assert await exporter(address).export(organization.org_id) == taken
            async with api_database.transaction(organization.org_id) as connection:
                [failure] = [
                    one.failure
                    for one in await load_exports(connection, organization.org_id)
                    if one.target.endswith(f"/{number}")
                ]
        assert (failure is None) if reason is None else (reason in (failure or "")), failure
    with pytest.raises(ValidationError, match="No such file"):
        exporter("tsa+https://tsa.example/?roots=/nowhere.pem")


@pytest.fixture
def witness(tmp_path: Path, checkpointer: Checkpointer) -> AsyncIterator[tuple[str, VerifierKey]]:
    """``headgate witness`` as another team runs it."""
    log = checkpointer.keys.load().verifier_keys("log.example")[0].text
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "headgate.cli.main", "witness", "--data-dir", str(tmp_path / "witness"),
         "--log", log, "--port", str(port), "--name", "witness.example/w1"],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    key = parse_verifier_key(process.stdout.readline())
    url = f"http://127.0.0.1:{port}"
    while process.poll() is None:
        try:
            httpx.get(url, verify=public_roots(), trust_env=False)
            break
        except httpx.TransportError:
            import time  # noqa: PLC0415

            time.sleep(0.1)
    yield url, key  # type: ignore[misc] - a generator
    process.terminate()
    process.wait()
    process.stdout.close()


async def test_a_witness_co_signs_what_continues_and_its_word_is_in_the_checkpoint(
    exporter: Export,
    three: list[str],
    organization,
    witness: tuple[str, VerifierKey],
    api_database: Database,
    checkpointer: Checkpointer,
    record,
    superuser: psycopg.Connection[tuple[object, ...]],
) -> None:
    url, key = witness
    org_id = organization.org_id
    to_witness = exporter(f"witness+{url}?key={quote(key.text)}")
    began = int(datetime.now(UTC).timestamp())
    assert await to_witness.export(org_id) == 1
    await record(5)
    assert await checkpointer.checkpoint(org_id)
    assert await to_witness.export(org_id) == 1
    async with api_database.transaction(org_id) as connection:
        for size, note in ((12, three[2]), (17, None)):
            (said,) = await attestations_of(connection, org_id, size)
            if note is not None:
                signed = parse_note(note + said.document)
                assert began <= (cosigned_at(signed, key) or 0) <= datetime.now(UTC).timestamp()
    # Our memory of what the witness knows is lost: it says so, and the export goes on from there.
    superuser.execute("DELETE FROM audit_exports WHERE org_id = %s", [org_id])
    await record(1)
    assert await checkpointer.checkpoint(org_id)
    assert await to_witness.export(org_id) == 1


async def test_a_witness_does_not_co_sign_a_rewritten_log(
    exporter: Export,
    three: list[str],
    organization,
    witness: tuple[str, VerifierKey],
    api_database: Database,
    checkpointer: Checkpointer,
    record,
    superuser: psycopg.Connection[tuple[object, ...]],
    tmp_path: Path,
) -> None:
    from psycopg import sql  # noqa: PLC0415

    from headgate.evidence.signed_memory import SignedMemory  # noqa: PLC0415

    url, key = witness
    org_id = organization.org_id
    to_witness = exporter(f"witness+{url}?key={quote(key.text)}")
    assert await to_witness.export(org_id) == 1
    for table in ("audit_trees", "audit_tiles", "audit_checkpoints", "audit_chain", "audit_events", "audit_exports"):
        superuser.execute(sql.SQL("DELETE FROM {} WHERE org_id = %s").format(sql.Identifier(table)), [org_id])
    await record(14)
    assert await replace(checkpointer, memory=SignedMemory(tmp_path / "none")).checkpoint(org_id)
    assert await to_witness.export(org_id) == 0
    assert "answered 422" in ((await _state(api_database, org_id)).failure or "")
