"""Notes, keys and checkpoints against the specifications' own examples."""

import asyncio
import stat
from pathlib import Path

import pytest

from headgate.evidence.checkpoint import (
    Checkpoint,
    cosignature,
    cosignature_message,
    cosigned_at,
    parse_checkpoint,
)
from headgate.evidence.note import KeyKind, SignedNote, VerifierKey, parse_note, parse_verifier_key, verify_note
from headgate.evidence.signing_keys import LocalSigner, SigningKeySource, parse_signing_keys
from headgate.kernel.errors import ConflictError, NotFoundError, UnavailableError, ValidationError
from headgate.kernel.secrets import Secret

# The example of Go's golang.org/x/mod/sumdb/note.
_GO_KEY = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
_GO_PRIVATE = "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz"
_GO_NOTE = (
    "If you think cryptography is the answer to your problem,\n"
    "then you don't know what your problem is.\n\n"
    "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
)


def test_a_note_of_another_implementation_verifies() -> None:
    assert verify_note(parse_note(_GO_NOTE), [parse_verifier_key(_GO_KEY)]) == [parse_verifier_key(_GO_KEY)]
    assert parse_note(_GO_NOTE).render() == _GO_NOTE
    assert parse_verifier_key(_GO_KEY).text == _GO_KEY


def test_a_private_key_of_another_implementation_makes_the_same_signature() -> None:
    keys = parse_signing_keys(_GO_PRIVATE)
    signature = asyncio.run(keys.signers[0].sign(parse_note(_GO_NOTE).text.encode()))
    assert parse_note(_GO_NOTE).signatures[0].signature == signature


@pytest.mark.parametrize(
    "changed",
    [
        _GO_NOTE.replace("cryptography", "Cryptography"),
        _GO_NOTE.replace("PeterNeumann x08", "Peter x08"),
        _GO_NOTE.replace("x08go/Z", "x08go/a"),
    ],
)
def test_a_changed_note_is_refused(changed: str) -> None:
    with pytest.raises(ValidationError):
        verify_note(parse_note(changed), [parse_verifier_key(_GO_KEY)])


@pytest.mark.parametrize(
    "text", ["", "text\n", "text\n\n", "text\n\n— a b\n", "te\txt\n\n" + _GO_NOTE.split("\n\n")[1]]
)
def test_what_is_no_note_is_refused(text: str) -> None:
    with pytest.raises(ValidationError):
        parse_note(text)


@pytest.mark.parametrize(
    "text", ["", "a+b", _GO_KEY.replace("c74f20a3", "c74f20a4"), _GO_KEY[:-4], _GO_KEY.replace("+ARpc", "+AhpC")]
)
def test_what_is_no_verifier_key_is_refused(text: str) -> None:
    with pytest.raises(ValidationError):
        parse_verifier_key(text)


def test_a_checkpoint_reads_back() -> None:
    checkpoint = Checkpoint("example.com/behind-the-sofa", 20852163, bytes(range(32)))
    assert parse_checkpoint(SignedNote(checkpoint.body(), ())) == checkpoint


@pytest.mark.parametrize("body", ["a\n1\n", "a\n01\n" + "A" * 43 + "=\n", "a\n1\nAAAA\n", "a\n-1\n" + "A" * 43 + "=\n"])
def test_what_is_no_checkpoint_is_refused(body: str) -> None:
    with pytest.raises(ValidationError):
        parse_checkpoint(SignedNote(body, ()))


def test_the_co_signature_of_the_specifications_example_has_its_time() -> None:
    """c2sp.org/tlog-cosignature: its text names time 1679315147 for this line."""
    note = parse_note(
        "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n\n"
        "— witness.example.com/w1 jWbPPwAAAABkGFDLEZMHwSRaJNiIDoe9DYn/zXcrtPHeolMI5OWXEhZCB9dlrDJsX3b2oyin1nPZqhf5nN"
        "o0xUe+mbIUBkBIfZ+qnA==\n"
    )
    assert int.from_bytes(note.signatures[0].signature[:8], "big") == 1679315147


def test_a_co_signature_commits_to_its_time(tmp_path: Path) -> None:
    keys = SigningKeySource(tmp_path / "keys").create("witness.example/w1")
    key = VerifierKey("witness.example/w1", keys.signers[0].public_key, KeyKind.COSIGNATURE)
    body = Checkpoint("log", 1, bytes(32)).body()
    signature = asyncio.run(keys.signers[0].sign(cosignature_message(body, 1_700_000_000)))
    good = SignedNote(body, (cosignature(key, 1_700_000_000, signature),))
    assert cosigned_at(good, key) == 1_700_000_000
    with pytest.raises(ValidationError):
        cosigned_at(SignedNote(body, (cosignature(key, 1_700_000_001, signature),)), key)
    assert cosigned_at(SignedNote(body, ()), key) is None


def test_keys_are_made_once_for_their_owner_only(tmp_path: Path) -> None:
    source = SigningKeySource(tmp_path / "evidence" / "keys")
    assert source.is_missing
    made = source.create()
    assert stat.S_IMODE(source.file.stat().st_mode) == 0o600
    assert source.create().signers[0].public_key == made.signers[0].public_key
    source.file.chmod(0o644)
    with pytest.raises(UnavailableError, match="chmod 600"):
        source.load()


def test_rotation_signs_with_both_until_the_old_key_is_retired(tmp_path: Path) -> None:
    source = SigningKeySource(tmp_path / "keys")
    old = source.create("log.example").signers[0].public_key
    both = source.rotate()
    new = both.signers[0].public_key
    assert [one.public_key for one in both.signers] == [new, old]
    note = asyncio.run(both.sign(Checkpoint("log.example/org", 1, bytes(32))))
    for public_key in (old, new):
        assert verify_note(note, [VerifierKey("log.example/org", public_key)])
    old_id = VerifierKey("log.example", old).key_id.hex()
    retired = source.retire(old_id)
    assert ([one.public_key for one in retired.signers], retired.retired) == ([new], (old,))
    assert "PRIVATE+KEY+log.example+" + old_id not in source.file.read_text()
    with pytest.raises(NotFoundError):
        source.retire(old_id)
    with pytest.raises(ConflictError):
        source.retire(VerifierKey("log.example", new).key_id.hex())


@pytest.mark.parametrize("text", ["", "nonsense", _GO_PRIVATE[:-4], _GO_PRIVATE + "\n" + "x" + _GO_KEY])
def test_malformed_keys_are_refused_and_not_shown(text: str) -> None:
    with pytest.raises(UnavailableError) as refused:
        SigningKeySource(Path("unused"), Secret(text)).load()
    assert "AYEKFALV" not in refused.value.message


def test_a_signer_does_not_show_its_key() -> None:
    keys = parse_signing_keys(_GO_PRIVATE)
    signer = keys.signers[0]
    assert isinstance(signer, LocalSigner)
    assert "AYEKFALV" not in repr(keys) + repr(signer)
