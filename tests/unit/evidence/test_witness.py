"""The witness, status by status (C2SP tlog-witness)."""

import asyncio
import base64
from pathlib import Path

import pytest

from headgate.evidence.checkpoint import Checkpoint, cosigned_at
from headgate.evidence.merkle import leaf_hash
from headgate.evidence.note import SignedNote, VerifierKey, parse_signature_line
from headgate.evidence.signing_keys import SigningKeys, SigningKeySource
from headgate.evidence.tiles import TreeBuilder, consistency_spans, roots_of
from headgate.evidence.witness import Witness, WitnessAnswer

_LEAVES = [leaf_hash(bytes([number])) for number in range(40)]


class World:
    """A log, a witness of it, and a stranger with a key of their own."""

    def __init__(self, folder: Path) -> None:
        self.log: SigningKeys = SigningKeySource(folder / "log").create("log.example")
        self.stranger: SigningKeys = SigningKeySource(folder / "stranger").create("log.example")
        self.folder = folder
        signer = SigningKeySource(folder / "witness").create("w").signers[0]
        self.witness = Witness(
            "w", signer, self.log.verifier_keys("log.example"), folder / "state", lambda: 1_700_000_000
        )

    def note(self, size: int, leaves: list[bytes] = _LEAVES, origin: str = "log.example/org") -> SignedNote:
        tree = TreeBuilder(0, {})
        tree.append(leaves[:size])
        return asyncio.run(self.log.sign(Checkpoint(origin, size, tree.frontier().root())))

    def proof(self, old: int, new: int, leaves: list[bytes] = _LEAVES) -> list[str]:
        tree = TreeBuilder(0, {})
        tree.append(leaves[:new])
        return [base64.b64encode(one).decode() for one in roots_of(consistency_spans(old, new), tree.changed)]

    def ask(self, old: int, note: SignedNote, proof: list[str]) -> WitnessAnswer:
        lines = "".join(f"{one}\n" for one in proof)
        return asyncio.run(self.witness.add_checkpoint(f"old {old}\n{lines}\n{note.render()}".encode()))


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_it_co_signs_what_continues_the_last_one(world: World) -> None:
    for old, new in ((0, 5), (5, 5), (5, 33)):
        note = world.note(new)
        answer = world.ask(old, note, world.proof(old, new))
        assert answer.status == 200, answer
        line = parse_signature_line(answer.body.rstrip("\n"))
        assert cosigned_at(SignedNote(note.text, (line,)), world.witness.key) == 1_700_000_000


def test_what_it_knows_survives_a_restart(world: World) -> None:
    assert world.ask(0, world.note(5), []).status == 200
    world.witness = Witness("w", world.witness.signer, world.witness.logs, world.witness.folder, lambda: 1)
    assert world.ask(0, world.note(7), []) == WitnessAnswer(409, "5\n", "text/x.tlog.size")
    assert world.ask(5, world.note(7), world.proof(5, 7)).status == 200


def test_what_does_not_continue_is_not_signed(world: World) -> None:
    other = [leaf_hash(b"other"), *_LEAVES[1:]]
    assert world.ask(0, world.note(5), []).status == 200
    assert world.ask(5, world.note(9, other), world.proof(5, 9, other)).status == 422
    assert world.ask(5, world.note(9), world.proof(5, 9)[:-1]).status == 422
    assert world.ask(5, world.note(5, other), []).status == 409
    assert world.ask(4, world.note(9), world.proof(4, 9)) == WitnessAnswer(409, "5\n", "text/x.tlog.size")
    assert world.ask(6, world.note(5), []).status == 400
    assert world.ask(5, world.note(9), world.proof(5, 9)).status == 200


def test_other_peoples_logs_and_signatures_are_not_its_business(world: World) -> None:
    assert world.ask(0, world.note(5, origin="other.example/org"), []).status == 404
    signed = asyncio.run(world.stranger.sign(Checkpoint("log.example/org", 5, bytes(32))))
    assert world.ask(0, signed, []).status == 403


@pytest.mark.parametrize(
    "request_body",
    [
        b"",
        b"\xff",
        b"old 0\n",
        b"old 0\n\nx",
        b"old -1\n\n",
        b"new 0\n\nlog\n1\nx\n\n",
        b"old 0\nzz\n\nlog\n1\nx\n\n- a b\n",
    ],
)
def test_malformed_requests_are_refused(world: World, request_body: bytes) -> None:
    assert asyncio.run(world.witness.add_checkpoint(request_body)).status == 400


def test_its_key_is_a_co_signers(world: World) -> None:
    key = world.witness.key
    assert VerifierKey(key.name, key.public_key).key_id != key.key_id
