"""The verifier against whoever changes a pack: by accident, by hand, and knowing exactly how packs are made.

The same pack is given to ``headgate verify`` and to the single file run by itself.
"""

import hashlib
import io
import json
import random
import re
import resource
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from headgate.evidence import pack_verifier
from headgate.evidence.note import VerifierKey
from headgate.evidence.pack_archive import write_archive
from headgate.evidence.pack_verifier import InvalidError, RefusedError, parse_key, verify_pack
from tests.unit.evidence.conftest import ACTION, ORG, MadePack

_FILE = Path(pack_verifier.__file__)
_HEADGATE = [sys.executable, "-m", "headgate.cli.main", "verify"]
_ALONE = [sys.executable, "-I", str(_FILE)]


def _keys(made: MadePack) -> list[pack_verifier.Key]:
    return [parse_key(one) for one in made.keys]


def _forged(members: dict[str, bytes]) -> bytes:
    """As somebody would who knows the format: digests and comment made anew."""
    try:
        document = json.loads(members["verification.json"])
        document["members"] = {
            name: "sha256:" + hashlib.sha256(content).hexdigest()
            for name, content in sorted(members.items())
            if name != "verification.json"
        }
        members = {**members, "verification.json": pack_verifier.member(document)}
    except (ValueError, KeyError):
        pass
    return write_archive(members)


def test_a_file_of_keys_may_be_what_audit_key_prints(made_pack: MadePack, tmp_path: Path) -> None:
    file = tmp_path / "keys.txt"
    file.write_text("".join(f"{key}  current\n" for key in made_pack.keys), "utf-8")
    read = pack_verifier.read_keys([str(file)])
    assert [(one.name, one.public_key) for one in read] == [(one.name, one.public_key) for one in _keys(made_pack)]
    file.write_text(f"{made_pack.keys[0]}  trusted\n", "utf-8")
    with pytest.raises(RefusedError, match="'trusted'"):
        pack_verifier.read_keys([str(file)])


def test_a_pack_says_what_was_recorded(made_pack: MadePack) -> None:
    report = verify_pack(write_archive(made_pack.members), _keys(made_pack))
    assert {name: report[name] for name in ("valid", "action_id", "organization", "tool", "decision", "status")} == {
        "valid": True, "action_id": ACTION, "organization": ORG, "tool": "mail", "decision": "require_approval",
        "status": "completed",
    }  # fmt: skip
    assert report["events"] == 9
    assert [one["time"] for one in report["cosigned_by"]] == [1_700_000_000]
    assert report["time_stamps_not_checked"] == ["timestamps/tsa.tsr"]
    approval = json.loads(made_pack.members["approval.json"])
    assert (approval["status"], approval["used_by"], len(approval["history"])) == ("approved", "exe_1", 2)
    assert json.loads(made_pack.members["decision.json"])["nlp"][0]["outcome"] == "clear"
    assert json.loads(made_pack.members["action.json"])["outcome"]["result"] == {"status": 200}


def test_a_pack_without_an_approval_has_no_such_member(denied_pack: MadePack) -> None:
    assert "approval.json" not in denied_pack.members
    assert verify_pack(write_archive(denied_pack.members), _keys(denied_pack))["valid"]


def test_the_same_members_are_the_same_bytes(made_pack: MadePack) -> None:
    shuffled = dict(sorted(made_pack.members.items(), reverse=True))
    assert write_archive(made_pack.members) == write_archive(shuffled)


def test_every_flipped_bit_of_the_file_is_noticed(denied_pack: MadePack) -> None:
    """Every one: all bits of all bytes of the smallest pack."""
    pack, keys = write_archive(denied_pack.members), _keys(denied_pack)
    changed, unnoticed = bytearray(pack), []
    for at in range(len(pack)):
        for bit in range(8):
            changed[at] ^= 1 << bit
            try:
                verify_pack(bytes(changed), keys)
                unnoticed.append((at, bit))
            except (InvalidError, RefusedError):
                pass
            changed[at] ^= 1 << bit
    assert unnoticed == []


def test_every_flipped_bit_of_a_member_is_noticed_even_with_all_digests_made_anew(made_pack: MadePack) -> None:
    keys = _keys(made_pack)
    generator = random.Random(20261121)  # noqa: S311 - a repeatable sample
    for name, content in made_pack.members.items():
        if name.startswith("timestamps/"):
            continue  # checked against the authority's certificate, which this verifier does not do and says so
        for at in generator.sample(range(len(content)), min(len(content), 250)):
            changed = bytearray(content)
            changed[at] ^= 1 << generator.randrange(8)
            members = {**made_pack.members, name: bytes(changed)}
            # Digests that are themselves what was flipped would be set right again.
            forged = write_archive(members) if name == "verification.json" else _forged(members)
            with pytest.raises((InvalidError, RefusedError)):
                verify_pack(forged, keys)


def _changed(made: MadePack, name: str, old: str, new: str) -> bytes:
    content = made.members[name].decode()
    assert old in content
    return _forged({**made.members, name: content.replace(old, new).encode()})


@pytest.mark.parametrize(
    ("name", "old", "new", "reason"),
    [
        ("action.json", '"tool":"mail"', '"tool":"note"', "action.json does not agree with the events"),
        ("decision.json", '"high"', '"low"', "decision.json does not agree"),
        ("approval.json", "ann@example.com", "bob@example.com", "approval.json does not agree"),
        ("events.json", "“fine”", "“nope”", "the payload is not the one that was recorded"),
        ("events.json", "execution.completed", "execution.failed", "not in the tree that was signed"),
        ("events.json", "index 42", "index 41", "proved as number 42"),
        ("request.json", "x@example.com", "y@example.com", "request.json is not what was recorded"),
        ("catalogue.json", "send", "read", "catalogue.json is not what was recorded"),
        ("policy.rego", "require_approval", "allow", "policy.rego is not the text of policy"),
        ("checkpoint.txt", "\n74\n", "\n75\n", "is not valid"),
        ("verification.json", '"tree_size":74', '"tree_size":75', "verification.json does not fit"),
        ("README.md", "does not show", "does show", "README.md is not that of this format"),
    ],
)
def test_what_was_changed_is_named(made_pack: MadePack, name: str, old: str, new: str, reason: str) -> None:
    with pytest.raises(InvalidError, match=reason):
        verify_pack(_changed(made_pack, name, old, new), _keys(made_pack))


def test_events_cannot_be_dropped_from_the_middle_reordered_or_doubled(made_pack: MadePack) -> None:
    document = json.loads(made_pack.members["events.json"])
    events = document["events"]
    for changed in ([*events[:4], *events[5:]], [events[1], events[0], *events[2:]], [*events, events[-1]], [], [1]):
        members = {**made_pack.members, "events.json": pack_verifier.member({"events": changed})}
        with pytest.raises(InvalidError):
            verify_pack(_forged(members), _keys(made_pack))


def test_a_member_that_is_missing_or_added_is_noticed(made_pack: MadePack) -> None:
    for name in made_pack.members:
        if name in ("catalogue.json",):
            continue  # may be gone with the catalogue; verification.json notices where it was taken out
        rest = {one: content for one, content in made_pack.members.items() if one != name}
        if name.startswith(("keys.txt", "policies/", "timestamps/")):
            with pytest.raises(InvalidError):
                verify_pack(write_archive(rest), _keys(made_pack))
        else:
            with pytest.raises((InvalidError, RefusedError)):
                verify_pack(_forged(rest), _keys(made_pack))
    with pytest.raises(InvalidError):
        verify_pack(write_archive({**made_pack.members, "timestamps/more.tsr": b"x"}), _keys(made_pack))


def test_keys_that_it_names_are_the_logs_and_signed(made_pack: MadePack) -> None:
    named = made_pack.members["keys.txt"].decode()
    stranger = VerifierKey(f"log.example/{ORG}", bytes(32)).text
    for text in (
        named.rstrip("\n"), named * 2, "", "\n", "nonsense\n", made_pack.keys[0] + "\n", made_pack.keys[1] + "\n",
        named + stranger + "\n", named.replace("+", "++", 1),
    ):  # fmt: skip
        with pytest.raises(InvalidError, match=r"keys\.txt|no key of yours signed"):
            verify_pack(_forged({**made_pack.members, "keys.txt": text.encode()}), _keys(made_pack))
    assert verify_pack(_forged(made_pack.members), _keys(made_pack))["valid"]


def _zip(members: list[tuple[str, bytes]], comment: bytes = b"0" * 64) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
        archive.comment = comment
    return buffer.getvalue()


def _refusals(made: MadePack) -> dict[str, tuple[bytes, str]]:
    all_members = list(made.members.items())
    return {
        "empty": (b"", "not a ZIP"),
        "text": (b"hello", "not a ZIP"),
        "foreign": (_zip([("a.txt", b"x")]), "is not a member of a proof pack"),
        "half": (_zip(all_members[:3]), "has no"),
        "traversal": (_zip([*all_members, ("../../etc/passwd", b"x")]), "is not a member of a proof pack"),
        "absolute": (_zip([*all_members, ("/etc/passwd", b"x")]), "is not a member of a proof pack"),
        "policy traversal": (_zip([*all_members, ("policies/../../x@1.rego", b"")]), "is not a member"),
        "no comment": (_zip(all_members, b""), "its comment is not a SHA-256"),
        "bomb": (_zip([*all_members, ("timestamps/a.tsr", bytes(25 << 20))]), "larger than"),
        "many": (_zip([*all_members, *((f"timestamps/a{n}.tsr", b"") for n in range(99))]), "more than 64 members"),
    }


@pytest.mark.parametrize("which", list(_refusals(MadePack({}, None, ("", "")))))  # type: ignore[arg-type] - names only
def test_what_is_no_pack_is_refused(made_pack: MadePack, which: str) -> None:
    pack, reason = _refusals(made_pack)[which]
    with pytest.raises(RefusedError, match=reason):
        verify_pack(pack, _keys(made_pack))


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("command", [_HEADGATE, _ALONE], ids=["headgate verify", "the file alone"])
def test_both_ways_to_call_it_refuse_what_is_no_pack(made_pack: MadePack, tmp_path: Path, command: list[str]) -> None:
    """And within a bounded size of memory: a bomb is not unpacked (RLIMIT_AS)."""
    doubled = (_zip([*made_pack.members.items(), ("action.json", b"{}")]), "two members are called")
    path, key = tmp_path / "pack.zip", made_pack.keys[0]
    for which, (content, reason) in {**_refusals(made_pack), "doubled": doubled}.items():
        path.write_bytes(content)
        found = subprocess.run(
            [*command, str(path), "--key", key], capture_output=True, text=True, check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (512 << 20, 512 << 20)),
        )  # fmt: skip
        assert (which, found.returncode, found.stdout) == (which, 2, "")
        assert found.stderr.startswith("REFUSED: "), found.stderr
        assert re.search(reason, found.stderr), found.stderr


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_doubled_member_is_refused(made_pack: MadePack) -> None:
    with pytest.raises(RefusedError, match="two members are called"):
        verify_pack(_zip([*made_pack.members.items(), ("action.json", b"{}")]), _keys(made_pack))


def test_a_member_that_is_larger_than_it_says_is_not_unpacked(made_pack: MadePack) -> None:
    """The sizes in the archive are a liar's: reading stops at what was promised."""
    pack = bytearray(_zip([*made_pack.members.items(), ("timestamps/a.tsr", bytes(20 << 20))]))
    at = pack.rindex(b"timestamps/a.tsr") - 46
    pack[at + 24 : at + 28] = (10).to_bytes(4, "little")
    content = bytes(pack[:-64])
    started = time.monotonic()
    with pytest.raises(InvalidError):
        verify_pack(content + hashlib.sha256(content).hexdigest().encode(), _keys(made_pack))
    assert time.monotonic() - started < 1


def test_a_pack_of_another_service_is_not_believed(made_pack: MadePack) -> None:
    with pytest.raises(InvalidError, match=r"no key of yours signed.*log\.example"):
        stranger = parse_key("PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW")
        verify_pack(write_archive(made_pack.members), [stranger])
    with pytest.raises(RefusedError, match="not only a witness"):
        verify_pack(write_archive(made_pack.members), _keys(made_pack)[1:])


@pytest.mark.parametrize("command", [_HEADGATE, _ALONE], ids=["headgate verify", "the file alone"])
def test_both_ways_to_call_it_agree(made_pack: MadePack, tmp_path: Path, command: list[str]) -> None:
    good, bad, key_file = tmp_path / "good.zip", tmp_path / "bad.zip", tmp_path / "keys"
    good.write_bytes(write_archive(made_pack.members))
    bad.write_bytes(_changed(made_pack, "action.json", '"tool":"mail"', '"tool":"note"'))
    key_file.write_text("\n".join(made_pack.keys))
    published = tmp_path / "keys.json"
    published.write_text(json.dumps({"log": "log.example", "keys": [{"vkey": made_pack.keys[0]}]}))

    def call(*arguments: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*command, *map(str, arguments)], capture_output=True, text=True, check=False)

    for key in (made_pack.keys[0], key_file, published):
        found = call(good, "--key", key)
        assert (found.returncode, found.stderr) == (0, "")
        assert f"VALID: action {ACTION} (mail.send), completed" in found.stdout
    as_json = call(good, "--key", key_file, "--json")
    assert json.loads(as_json.stdout)["cosigned_by"][0]["name"] == "witness.example/w1"
    found = call(bad, "--key", key_file)
    assert (found.returncode, found.stdout) == (1, "")
    assert "NOT VALID: action.json does not agree" in found.stderr
    for arguments in ((key_file, "--key", key_file), (tmp_path / "none", "--key", key_file), (good, "--key", "x")):
        assert call(*arguments).returncode == 2
    assert json.loads(call(bad, "--key", key_file, "--json").stdout)["valid"] is False


def test_the_file_alone_needs_cryptography_and_nothing_else() -> None:
    program = (
        "import sys; before = set(sys.modules)\n"
        f"import importlib.util as u; s = u.spec_from_file_location('v', {str(_FILE)!r})\n"
        "m = u.module_from_spec(s); s.loader.exec_module(m)\n"
        "m.Key('a', 1, bytes(32)).key_id\n"
        "outside = {n.partition('.')[0] for n in set(sys.modules) - before} - set(sys.stdlib_module_names)\n"
        "print(sorted(outside - {'v'}))\n"
    )
    found = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
    imports = {line.split()[1].partition(".")[0] for line in _FILE.read_text().splitlines() if "import " in line
               and line.lstrip().startswith(("import ", "from "))}  # fmt: skip
    assert imports - set(sys.stdlib_module_names) == {"cryptography"}
