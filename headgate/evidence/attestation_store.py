"""What others said about checkpoints: co-signatures of witnesses, time stamps of authorities."""

from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct

from headgate.db.database import Connection


class AttestationKind(StrEnum):
    COSIGNATURE = "cosignature"
    """``document`` is a signature line of the note."""
    TIMESTAMP = "timestamp"
    """``document`` is a response of RFC 3161, in base64."""


class Attestation(Struct, frozen=True):
    kind: AttestationKind
    name: str
    document: str


async def attestations_of(connection: Connection, org_id: str, size: int) -> list[Attestation]:
    """By kind and name."""
    cursor = await connection.execute(
        "SELECT kind, name, document FROM audit_attestations WHERE org_id = %s AND size = %s ORDER BY kind, name",
        [org_id, size],
    )
    return [Attestation(AttestationKind(row["kind"]), row["name"], row["document"]) for row in await cursor.fetchall()]


async def attestations_by_size(
    connection: Connection, org_id: str, sizes: Sequence[int]
) -> dict[int, list[Attestation]]:
    """Those of several checkpoints, each by kind and name; a size without any is left out."""
    cursor = await connection.execute(
        "SELECT size, kind, name, document FROM audit_attestations WHERE org_id = %s AND size = ANY (%s)"
        " ORDER BY size, kind, name",
        [org_id, list(sizes)],
    )
    found: dict[int, list[Attestation]] = {}
    for row in await cursor.fetchall():
        one = Attestation(AttestationKind(row["kind"]), row["name"], row["document"])
        found.setdefault(int(row["size"]), []).append(one)
    return found


async def attested_size_from(connection: Connection, org_id: str, size: int, kind: AttestationKind) -> int | None:
    """The smallest checkpoint of at least ``size`` events that has one of this kind."""
    cursor = await connection.execute(
        "SELECT min(size) AS size FROM audit_attestations WHERE org_id = %s AND size >= %s AND kind = %s",
        [org_id, size, kind.value],
    )
    row = await cursor.fetchone()
    return None if row is None or row["size"] is None else int(row["size"])


async def save_attestation(connection: Connection, org_id: str, size: int, attestation: Attestation) -> None:
    """The first one of a name stays."""
    await connection.execute(
        "INSERT INTO audit_attestations (org_id, size, kind, name, document) VALUES (%s, %s, %s, %s, %s)"
        " ON CONFLICT DO NOTHING",
        [org_id, size, attestation.kind.value, attestation.name, attestation.document],
    )
