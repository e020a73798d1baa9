"""Bodies about checkpoints, and the keys that sign them."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from pydantic import Field

from admin_api.schema import BaseModel
from headgate.evidence.attestation_store import Attestation, AttestationKind
from headgate.evidence.checkpoint import origin_of
from headgate.evidence.export_store import ExportState
from headgate.evidence.note import VerifierKey
from headgate.evidence.signing_keys import SigningKeys
from headgate.evidence.tree_store import StoredCheckpoint, Tree


class SigningKeyAnswer(BaseModel):
    key_id: str
    vkey: str = Field(
        description="Verifier key (C2SP signed-note) with the name of the log. It verifies the log's checkpoints."
    )
    public_key: str = Field(description="Ed25519, in hexadecimal.")
    status: str = Field(description="current, signing (until it is retired) or retired.")


class KeysAnswer(BaseModel):
    """The keys of one organization's log. ``log`` is its origin, and the name of its keys."""

    log: str
    keys: list[SigningKeyAnswer]


class AttestationAnswer(BaseModel):
    """An attestation of a checkpoint by a witness (C2SP tlog-witness) or a timestamp authority (RFC 3161)."""

    kind: AttestationKind
    name: str
    document: str = Field(description="A signature line of the note, or the authority's response in base64.")


class CheckpointAnswer(BaseModel):
    size: int = Field(description="Number of events in the tree.")
    note: str = Field(description="C2SP tlog-checkpoint.")
    created_at: datetime
    attestations: list[AttestationAnswer] = Field(
        default_factory=list, description="In lists: cosignatures and timestamps of other parties."
    )


class ExportAnswer(BaseModel):
    """``failing_since`` null: the target accepts checkpoints. ``size``: its last checkpoint."""

    target: str
    size: int
    exported_at: datetime | None
    failing_since: datetime | None
    failure: str | None


class CheckpointsAnswer(BaseModel):
    """``problem``: why no newer checkpoint is signed. Null: no problem."""

    data: list[CheckpointAnswer]
    tree_size: int
    problem: str | None
    problem_since: datetime | None
    exports: list[ExportAnswer]


class ConsistencyAnswer(BaseModel):
    """Proof that the second checkpoint extends the first (RFC 6962, section 2.1.2). Hashes are base64."""

    first: CheckpointAnswer
    second: CheckpointAnswer
    path: list[str]


def keys_answer(keys: SigningKeys, org_id: str) -> KeysAnswer:
    origin = origin_of(keys.log_name, org_id)
    signing = ["current", *["signing"] * len(keys.signers)][: len(keys.signers)]
    statuses = [*signing, *["retired"] * len(keys.retired)]
    return KeysAnswer(
        log=origin,
        keys=[_key_answer(key, status) for key, status in zip(keys.verifier_keys(origin), statuses, strict=True)],
    )


def _key_answer(key: VerifierKey, status: str) -> SigningKeyAnswer:
    return SigningKeyAnswer(key_id=key.key_id.hex(), vkey=key.text, public_key=key.public_key.hex(), status=status)


def checkpoint_answer(checkpoint: StoredCheckpoint, attestations: Sequence[Attestation] = ()) -> CheckpointAnswer:
    return CheckpointAnswer(
        size=checkpoint.size,
        note=checkpoint.note,
        created_at=checkpoint.created_at,
        attestations=[AttestationAnswer(kind=one.kind, name=one.name, document=one.document) for one in attestations],
    )


def checkpoints_answer(
    found: list[StoredCheckpoint],
    tree: Tree,
    exports: list[ExportState],
    attested: Mapping[int, Sequence[Attestation]],
) -> CheckpointsAnswer:
    """``attested``: by size."""
    return CheckpointsAnswer(
        data=[checkpoint_answer(one, attested.get(one.size, ())) for one in found],
        tree_size=tree.frontier.size,
        problem=tree.problem,
        problem_since=tree.problem_since,
        exports=[
            ExportAnswer(
                target=one.target,
                size=one.size,
                exported_at=one.exported_at,
                failing_since=one.failing_since,
                failure=one.failure,
            )
            for one in exports
        ],
    )
