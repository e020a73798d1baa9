"""A proof pack of a made-up record, and the key that signed it: nothing here needs a server."""

import asyncio
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from msgspec import structs

from headgate.audit.chain import genesis, header_hash, header_text, payload_digest
from headgate.audit.model import SYSTEM, Actor, ActorType, payload_text
from headgate.evidence.attestation_store import Attestation, AttestationKind
from headgate.evidence.checkpoint import Checkpoint, cosignature, cosignature_message
from headgate.evidence.merkle import leaf_hash
from headgate.evidence.note import KeyKind, VerifierKey
from headgate.evidence.pack_members import PackSources, assemble
from headgate.evidence.pack_store import SealedRow
from headgate.evidence.signing_keys import SigningKeySource
from headgate.evidence.tiles import TreeBuilder, inclusion_spans, roots_of
from headgate.kernel.canonical_json import JsonObject, canonical_bytes, sha256_hex

ORG = "org_00000000-0000-7000-8000-000000000001"
ACTION = "act_00000000-0000-7000-8000-000000000002"
AGENT = "agt_00000000-0000-7000-8000-000000000003"
POLICY = "pol_00000000-0000-7000-8000-000000000004"
OTHER_POLICY = "pol_00000000-0000-7000-8000-000000000005"
_REGO = 'package p\n\nrequire_approval if input.tool == "mail"\n'
_OTHER_REGO = "package q\n\nallow\n"
_REQUEST = '{"http":{"method":"POST"},"params":{"to":"x@example.com"}}'
_CATALOGUE = canonical_bytes({"operation": "send", "tool": "mail"})
_START = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)


@dataclass(frozen=True)
class MadePack:
    """``keys``: of the service and of the witness."""

    members: dict[str, bytes]
    sources: PackSources
    keys: tuple[str, str]


def _rows() -> list[SealedRow]:
    agent, person = Actor(ActorType.AGENT, AGENT, "Robot"), Actor(ActorType.USER, "usr_1", "ann@example.com")
    decision: JsonObject = {
        "decision": "require_approval", "reason": "mail needs a person", "risk_level": "high", "policy_id": POLICY,
        "evaluation_time_ms": 0.25, "generation": 3,
        "policies": [{"id": POLICY, "version": 2, "decision": "require_approval"},
                     {"id": OTHER_POLICY, "version": 1, "decision": "allow"}],
        "nlp": [{"policy_id": "nlp_1", "version": 1, "outcome": "clear", "score": 0.1}],
    }  # fmt: skip
    submitted: JsonObject = {
        "source": "proxy", "tool": "mail", "operation": "send", "digest": "sha256:" + "ab" * 32,
        "request_digest": sha256_hex(_REQUEST.encode()), "key_id": "key_1", "catalogue_sha256": sha256_hex(_CATALOGUE),
    }  # fmt: skip
    told: list[tuple[str, Actor, JsonObject, str | None]] = [
        ("policy.created", SYSTEM, {"policy_id": OTHER_POLICY, "version": 1,
                                    "rego_sha256": sha256_hex(_OTHER_REGO.encode())}, None),
        ("policy.updated", person, {"policy_id": POLICY, "version": 2,
                                    "rego_sha256": sha256_hex(_REGO.encode())}, None),
        *[("request.refused", SYSTEM, {"n": number}, None) for number in range(40)],
        ("action.submitted", agent, submitted, ACTION),
        ("decision.made", SYSTEM, decision, ACTION),
        ("approval.requested", agent, {"approval_id": "apr_1", "required_approvals": 1}, ACTION),
        ("approval.approved", person, {"approval_id": "apr_1", "vote": "approve", "comment": "“fine”"}, ACTION),
        ("decision.made", SYSTEM, decision, ACTION),
        ("execution.started", agent, {"execution_id": "exe_1", "approval_id": "apr_1"}, ACTION),
        ("execution.completed", agent, {"execution_id": "exe_1", "result": {"status": 200}}, ACTION),
        *[("request.refused", SYSTEM, {"n": number}, None) for number in range(25)],
    ]  # fmt: skip
    rows: list[SealedRow] = []
    previous = genesis(ORG)
    for seq, (event_type, actor, data, action_id) in enumerate(told, 1):
        salt, payload = hashlib.sha256(str(seq).encode()).digest()[:16], payload_text(actor, data)
        at = _START + timedelta(seconds=seq)
        header = header_text(
            org_id=ORG, seq=seq, event_id=f"evt_00000000-0000-7000-8000-{seq:012d}", event_type=event_type,
            action_id=action_id, agent_id=None if action_id is None else AGENT, created_at=at, sealed_at=at,
            payload_digest=payload_digest(salt, payload), prev_hash=previous,
        )  # fmt: skip
        previous = header_hash(header)
        rows.append(SealedRow(seq, header, salt, payload))
    return rows


@pytest.fixture(scope="session")
def made_pack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MadePack]:
    folder: Path = tmp_path_factory.mktemp("keys")
    keys = SigningKeySource(folder / "log").create("log.example")
    witness = SigningKeySource(folder / "witness").create("witness.example/w1")
    rows = _rows()
    tree = TreeBuilder(0, {})
    tree.append([leaf_hash(header_hash(row.header)) for row in rows])
    checkpoint = Checkpoint(f"log.example/{ORG}", len(rows), tree.frontier().root())
    witness_key = VerifierKey("witness.example/w1", witness.signers[0].public_key, KeyKind.COSIGNATURE)
    cosigned = asyncio.run(witness.signers[0].sign(cosignature_message(checkpoint.body(), 1_700_000_000)))
    wanted = [row for row in rows if ACTION in row.header or '"policy.' in row.header]
    sources = PackSources(
        action_id=ACTION,
        note=asyncio.run(keys.sign(checkpoint)).render(),
        attestations=(
            Attestation(AttestationKind.COSIGNATURE, "w1", cosignature(witness_key, 1_700_000_000, cosigned).line),
            Attestation(AttestationKind.TIMESTAMP, "tsa", "AAEC"),
        ),
        rows=wanted,
        paths=[tuple(roots_of(inclusion_spans(row.seq - 1, len(rows)), tree.changed)) for row in wanted],
        request=_REQUEST,
        policies={(POLICY, 2): _REGO, (OTHER_POLICY, 1): _OTHER_REGO},
        catalogue_entry=_CATALOGUE,
        keys=keys.verifier_keys(f"log.example/{ORG}"),
    )
    yield MadePack(assemble(sources), sources, (keys.verifier_keys("log.example")[0].text, witness_key.text))


@pytest.fixture
def denied_pack(made_pack: MadePack) -> MadePack:
    """The same without what an approval, a catalogue or others add."""
    kept = [
        at
        for at, row in enumerate(made_pack.sources.rows)
        if not any(word in row.header for word in ('"approval.', '"execution.'))
    ]
    sources = structs.replace(
        made_pack.sources,
        attestations=(),
        rows=[made_pack.sources.rows[at] for at in kept],
        paths=[made_pack.sources.paths[at] for at in kept],
        catalogue_entry=None,
    )
    return replace(made_pack, sources=sources, members=assemble(sources))
