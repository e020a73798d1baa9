"""What a log proves of its restores from backups, to an outsider who kept checkpoints of events that are lost.

The event ``backup.restored`` counts only with the proof that it is in a tree which a trusted key signed (RFC 9162,
2.1.3.2). It explains a rollback and does not excuse it: whoever kept a later checkpoint decides, once, whether they
knew of the restore, and sets these checkpoints aside. They are renamed, never deleted.
"""

import base64
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from headgate.audit.chain import header_hash, parse_header, payload_digest, unquoted
from headgate.audit.model import EventType
from headgate.cli.api_client import ApiClient
from headgate.client import operations
from headgate.evidence.checkpoint import Checkpoint
from headgate.evidence.merkle import ProofError, leaf_hash
from headgate.evidence.pack_verifier import InvalidError, tree_root
from headgate.kernel.errors import ConflictError, ValidationError

_MOST_RESTORES: Final = 100

type Read = Callable[[str], Checkpoint]
"""The checkpoint of a note whose signature is trusted; raises HeadgateError."""
type Continues = Callable[[Checkpoint, Checkpoint], bool]
"""Whether the log proves that the second checkpoint continues the first."""


class ProvenRestore(Struct, frozen=True):
    """``head_seq``: the newest event of the log in the backup. ``seq``: of the event that says so."""

    event_id: str
    seq: int
    restored_at: str
    restored_by: str
    backup_id: str
    head_seq: int

    def describe(self) -> str:
        return (
            f"{self.restored_by} restored the backup {self.backup_id} at {self.restored_at}, in which the log ended at"
            f" event {self.head_seq} (event {self.seq}, {self.event_id})"
        )


def proven_restores(client: ApiClient, read: Read) -> list[ProvenRestore]:
    """Those that the log proves, newest first. Raises HeadgateError where the service does not answer."""
    listed = client.send(operations.list_audit_events, event_type=EventType.BACKUP_RESTORED.value, limit=_MOST_RESTORES)
    found = []
    for one in listed["data"]:
        restore = _proven(client.send(operations.get_audit_event, one["id"]), read)
        if restore is not None:
            found.append(restore)
    return found


def _proven(event: Any, read: Read) -> ProvenRestore | None:
    """None: no checkpoint covers it yet. Raises ValidationError: the proof is wrong."""
    proof, texts = event["proof"], event["hash_input"]
    header = parse_header(texts["header"])
    if proof is None or header is None or texts["payload"] is None:
        return None
    salt, payload = bytes.fromhex(texts["salt"]), str(texts["payload"])
    tree = read(proof["checkpoint"])
    try:
        if payload_digest(salt, payload).hex() != header.payload_digest:
            raise ProofError("its payload is not the one that was sealed")
        if unquoted(header.type) != EventType.BACKUP_RESTORED.value or int(header.seq) != proof["index"] + 1:
            raise ProofError("it is another event")
        leaf = leaf_hash(header_hash(texts["header"]))
        path = [base64.b64decode(one) for one in proof["path"]]
        if tree_root(leaf, proof["index"], tree.size, path, "the event") != tree.root:
            raise ProofError("it is not in the tree that was signed")
        data = json.loads(payload)["data"]
        return ProvenRestore(
            event_id=str(unquoted(header.id)),
            seq=int(header.seq),
            restored_at=str(unquoted(header.created_at)),
            restored_by=str(data["restored_by"]),
            backup_id=str(data["backup_id"]),
            head_seq=int(data["head_seq"]),
        )
    except (ProofError, InvalidError, ValueError, KeyError, TypeError) as error:
        raise ValidationError(f"the event of a restore ({event['id']}) is not proven: {error}") from error


def explaining(restores: Sequence[ProvenRestore], known: Checkpoint) -> ProvenRestore | None:
    """The restore that lost events which a checkpoint covers."""
    return next((one for one in restores if one.head_seq < known.size), None)


def set_aside(folder: Path, restore: ProvenRestore, newest: Checkpoint, read: Read, continues: Continues) -> list[Path]:
    """Renames the checkpoints in ``folder`` that cover events which this restore lost; returns their new names.

    Nothing is renamed where an earlier checkpoint is not continued either, or where this restore was accepted and
    the log followed past it: the restore does not explain that. Raises ConflictError.
    """
    lost: list[Path] = []
    followed: Path | None = None
    for file in sorted(folder.rglob("*.checkpoint")):
        text = file.read_text("utf-8")
        if text.partition("\n")[0] != newest.origin:
            continue  # of another log: a witness has those of several
        kept = read(text)
        if kept.size <= newest.size and continues(kept, newest):
            followed = file if kept.size >= restore.seq else followed
            continue
        if kept.size <= restore.head_seq:
            raise ConflictError(
                f"{file}: the checkpoint of {kept.size} events is not continued by the log, and the restore does not"
                f" explain it: the backup held {restore.head_seq} events. The log was forked or rewritten"
            )
        lost.append(file)
    if lost and followed is not None and any(folder.rglob(f"*.lost-{restore.event_id}")):
        raise ConflictError(
            f"{lost[0]}: the restore was already accepted, and {followed} is of the log after it. It does not explain"
            " why the log does not continue this checkpoint: events were removed since"
        )
    return [file.rename(file.with_name(f"{file.name}.lost-{restore.event_id}")) for file in lost]
