"""The members of a proof pack from what was read. Pure.

What people read of a pack is computed from the sealed events by the same functions that a verifier computes it with
(``pack_verifier``), so that nothing in a pack stands on the word of this service's tables.
"""

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from headgate.evidence import pack_verifier
from headgate.evidence.attestation_store import Attestation, AttestationKind
from headgate.evidence.checkpoint import InclusionProof, parse_checkpoint
from headgate.evidence.note import VerifierKey, parse_note
from headgate.evidence.pack_store import SealedRow
from headgate.kernel.errors import UnavailableError

_README: Final = (Path(__file__).parent / "pack_readme.txt").read_bytes()


class PackSources(Struct, frozen=True):
    """``rows`` are the action's events and those of its policies' versions, by ``seq``, with a path for each.

    ``note`` is the checkpoint as it was signed; ``policies`` are texts by (id, version). ``request`` None: it was
    forgotten, which one of the rows says. ``keys``: the log's, some of which signed.
    """

    action_id: str
    note: str
    attestations: Sequence[Attestation]
    rows: Sequence[SealedRow]
    paths: Sequence[tuple[bytes, ...]]
    request: str | None
    policies: Mapping[tuple[str, int], str]
    catalogue_entry: bytes | None
    keys: Sequence[VerifierKey] = ()


def assemble(sources: PackSources) -> dict[str, bytes]:
    """Raises UnavailableError where the record does not say what the deciding policy said."""
    cosignatures = [one.document for one in sources.attestations if one.kind is AttestationKind.COSIGNATURE]
    note = sources.note + "".join(cosignatures)
    entries = [
        _entry(row, InclusionProof(row.seq - 1, path, note).render())
        for row, path in zip(sources.rows, sources.paths, strict=True)
    ]
    events = [pack_verifier.read_entry(entry) for entry in entries]
    own = [one for one in events if one["header"]["action"] == sources.action_id]
    members = {
        "README.md": _README,
        "checkpoint.txt": note.encode(),
        "events.json": pack_verifier.member({"events": entries}),
        **({} if sources.request is None else {"request.json": sources.request.encode()}),
        **pack_verifier.views(sources.action_id, events),
        **_policy_members(pack_verifier.decision_of(own), sources.policies),
    }
    if sources.catalogue_entry is not None:
        members["catalogue.json"] = sources.catalogue_entry
    for one in sources.attestations:
        if one.kind is AttestationKind.TIMESTAMP:
            members[f"timestamps/{one.name}.tsr"] = base64.b64decode(one.document)
    signed = parse_note(note)
    if signing := [one.text for one in sources.keys if signed.signature_of(one) is not None]:
        members["keys.txt"] = ("\n".join(signing) + "\n").encode()
    checkpoint = parse_checkpoint(signed)
    head = {"origin": checkpoint.origin, "size": checkpoint.size, "root": checkpoint.root}
    members["verification.json"] = pack_verifier.verification(sources.action_id, events, head, members)
    return members


def read_rows(rows: Sequence[SealedRow]) -> list[pack_verifier.Json]:
    """Events as a verifier reads them."""
    return [pack_verifier.read_entry(_entry(row, "")) for row in rows]


def _policy_members(decision: pack_verifier.Json, texts: Mapping[tuple[str, int], str]) -> dict[str, bytes]:
    deciding = pack_verifier.deciding_policy(decision)
    if deciding is None:
        return {"policy.rego": pack_verifier.policy_note(decision).encode()}
    if deciding not in texts:
        raise UnavailableError(f"the record does not say what policy {deciding[0]}, version {deciding[1]}, said")
    others = {f"policies/{one}@{version}.rego": text.encode() for (one, version), text in texts.items()}
    others.pop(f"policies/{deciding[0]}@{deciding[1]}.rego")
    return {"policy.rego": texts[deciding].encode(), **others}


def _entry(row: SealedRow, proof: str) -> pack_verifier.Json:
    salt = None if row.salt is None else row.salt.hex()
    return {"header": row.header, "payload": row.payload, "salt": salt, "proof": proof}
