"""What an outsider believes of a restore: a proven event, and checkpoints that it explains; nothing else."""

from base64 import b64encode
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from headgate.audit.chain import genesis, header_hash, header_text, payload_digest
from headgate.audit.model import SYSTEM, payload_text
from headgate.cli.audit_restores import ProvenRestore, explaining, proven_restores, set_aside
from headgate.client import operations
from headgate.evidence.checkpoint import Checkpoint
from headgate.evidence.merkle import leaf_hash
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.errors import ConflictError, ValidationError

_ORIGIN = "headgate/1/org_1"
_AT = datetime(2026, 11, 27, 8, 0, tzinfo=UTC)
_DATA: JsonObject = {"restored_by": "ada@gate", "backup_id": "bkp_1", "head_seq": 5}
_RESTORE = ProvenRestore("evt_1", 6, "2026-11-27T08:00:00.000000Z", "ada@gate", "bkp_1", 5)


def _read(text: str) -> Checkpoint:
    origin, size, root = text.split("\n")[:3]
    return Checkpoint(origin, int(size), bytes.fromhex(root))


def _text(size: int, root: bytes = bytes(32), origin: str = _ORIGIN) -> str:
    return f"{origin}\n{size}\n{root.hex()}\n"


def _event(event_type: str = "backup.restored") -> dict[str, Any]:
    """The only event of its log, with its proof."""
    salt, payload = bytes(16), payload_text(SYSTEM, _DATA)
    header = header_text(
        org_id="org_1", seq=1, event_id="evt_1", event_type=event_type, action_id=None, agent_id=None,
        created_at=_AT, sealed_at=_AT, payload_digest=payload_digest(salt, payload), prev_hash=genesis("org_1"),
    )  # fmt: skip
    root = leaf_hash(header_hash(header))
    return {
        "id": "evt_1",
        "hash_input": {"header": header, "salt": salt.hex(), "payload": payload},
        "proof": {"index": 0, "tree_size": 1, "path": [], "checkpoint": _text(1, root)},
    }


class _Service:
    """Answers as the API does."""

    def __init__(self, event: Mapping[str, Any]) -> None:
        self._event = event

    def send(self, operation: object, *_: object, **__: object) -> Any:
        return {"data": [{"id": "evt_1"}]} if operation is operations.list_audit_events else self._event


def test_a_proven_restore_is_believed() -> None:
    [found] = proven_restores(_Service(_event()), _read)  # type: ignore[arg-type]
    assert (found.event_id, found.seq, found.restored_by, found.head_seq) == ("evt_1", 1, "ada@gate", 5)


def test_one_that_no_checkpoint_covers_yet_is_not_believed() -> None:
    event = _event() | {"proof": None}
    assert proven_restores(_Service(event), _read) == []  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "change",
    [
        {"hash_input": _event()["hash_input"] | {"payload": payload_text(SYSTEM, _DATA | {"head_seq": 4})}},
        {"hash_input": _event("policy.created")["hash_input"], "proof": _event("policy.created")["proof"]},
        {"proof": _event()["proof"] | {"checkpoint": _text(1)}},
        {"proof": _event()["proof"] | {"index": 1}},
        {"proof": _event()["proof"] | {"path": [b64encode(bytes(32)).decode()]}},
    ],
    ids=["another payload", "another event", "another tree", "another place", "another path"],
)
def test_a_wrong_proof_is_told(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="is not proven"):
        proven_restores(_Service(_event() | change), _read)  # type: ignore[arg-type]


def test_a_restore_explains_checkpoints_of_lost_events_only() -> None:
    assert explaining([_RESTORE], Checkpoint(_ORIGIN, 6, b"")) is _RESTORE
    assert explaining([_RESTORE], Checkpoint(_ORIGIN, 5, b"")) is None


def _folder(tmp_path: Path, *sizes: int) -> Path:
    for size in sizes:
        (tmp_path / f"{size}.checkpoint").write_text(_text(size))
    return tmp_path


def test_lost_checkpoints_are_renamed_and_others_stay(tmp_path: Path) -> None:
    folder = _folder(tmp_path, 3, 5, 7, 8, 20)
    (folder / "other.checkpoint").write_text(_text(99, origin="headgate/1/org_2"))
    newest = Checkpoint(_ORIGIN, 9, bytes(32))
    lost = set_aside(folder, _RESTORE, newest, _read, lambda kept, _: kept.size in (3, 5, 8))
    assert [one.name for one in lost] == ["20.checkpoint.lost-evt_1", "7.checkpoint.lost-evt_1"]
    left = sorted(one.name for one in folder.glob("*.checkpoint"))
    assert left == ["3.checkpoint", "5.checkpoint", "8.checkpoint", "other.checkpoint"]


def test_a_restore_is_accepted_once(tmp_path: Path) -> None:
    """Whoever can remove events would have each removal explained by the restore that everybody knows of."""
    folder = _folder(tmp_path, 5, 7)
    newest = Checkpoint(_ORIGIN, 40, bytes(32))
    [lost] = set_aside(folder, _RESTORE, newest, _read, lambda kept, _: kept.size == 5)
    assert lost.name == "7.checkpoint.lost-evt_1"
    _folder(tmp_path, 30, 50)
    with pytest.raises(ConflictError, match="already accepted"):
        set_aside(folder, _RESTORE, newest, _read, lambda kept, _: kept.size in (5, 30))
    assert (folder / "50.checkpoint").exists()


def test_what_the_restore_does_not_explain_is_told_and_nothing_is_renamed(tmp_path: Path) -> None:
    folder = _folder(tmp_path, 5, 7)
    with pytest.raises(ConflictError, match="the restore does not explain it: the backup held 5 events"):
        set_aside(folder, _RESTORE, Checkpoint(_ORIGIN, 9, bytes(32)), _read, lambda kept, _: False)
    assert sorted(one.name for one in folder.iterdir()) == ["5.checkpoint", "7.checkpoint"]
