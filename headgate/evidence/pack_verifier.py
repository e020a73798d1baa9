"""Verify a Headgate proof pack. One file: nothing but Python 3.9 or later and ``cryptography`` is needed.

    python pack_verifier.py PACK.zip --key KEY [--key KEY] [--json]

Read it from the top: it is meant to be read. It takes nothing in the pack on trust. The keys come from you: from
https://THE-SERVICE/.well-known/headgate-keys, or better from somebody who noted them before the pack was made.

What is checked, in this order:

1. The ZIP holds the members of a pack and nothing else, each once, of a bounded size; its comment is the SHA-256 of
   every byte before it.
2. ``checkpoint.txt`` is a C2SP checkpoint signed with a key of yours (Ed25519, RFC 8032); co-signatures of witnesses
   are checked where you give their keys.
3. Each event of ``events.json``: its header's SHA-256 is a leaf of the checkpoint's tree at the position that the
   header names (RFC 6962, inclusion proof); its payload is the one that the header has the salted digest of; events
   that follow each other are linked.
4. Everything else says nothing of its own: ``action.json``, ``decision.json``, ``approval.json`` and
   ``verification.json`` are computed anew from the events and must be equal, byte for byte; ``request.json``,
   ``catalogue.json`` and policies must have the digests that events name. A request, or a payload, may be missing only
   where one of the events says that it was erased, or dropped when its time was up.

Status: 0 valid, 1 not valid, 2 not a proof pack or no usable key.

What no pack can show by itself: that an event of the action was left out of it. ``headgate audit verify`` looks at the
whole record.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import io
import json
import re
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

Json = dict[str, Any]
StampCheck = Callable[[bytes, str], str]

FORMAT = "headgate-proof-pack/v1"
READMES_SHA256 = (
    "f61d66de87b489f02d3959edaeb7153564487f7fdbb418b58d665f7b1bc9f758",
    "c119ab8543165f42f4432344e90f4f625eccb070582d74a5f0c23ea0aa84ddca",  # before packs had keys.txt
)
MAX_PACK_BYTES = 32 << 20
MAX_MEMBER_BYTES = 24 << 20
MAX_TOTAL_BYTES = 48 << 20
MAX_MEMBERS = 64
COMMENT_BYTES = 64

REQUIRED = ("README.md", "action.json", "checkpoint.txt", "decision.json", "events.json", "policy.rego",
            "verification.json")  # fmt: skip
OPTIONAL = ("approval.json", "catalogue.json", "keys.txt", "request.json")
FURTHER_POLICY = re.compile(r"policies/(pol_[0-9a-f-]{36})@([1-9][0-9]{0,8})\.rego")
TIME_STAMP = re.compile(r"timestamps/[a-z0-9][a-z0-9.-]{0,62}\.tsr")
NO_POLICY = "# No policy spoke about this action: what nobody allows is denied.\n"
ERASED_POLICY = "# Which policies spoke was erased with what the record said of this action.\n"
HEADER_KEYS = [
    "action",
    "agent",
    "created_at",
    "id",
    "org",
    "payload_digest",
    "prev_hash",
    "sealed_at",
    "seq",
    "type",
    "v",
]
VERIFIER_KEY = re.compile(r"([^\s+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]+={0,2})")
KEY_STATUSES = frozenset({"current", "signing", "retired"})
SIGNATURE_LINE = re.compile(r"— ([^\s+]+) ([A-Za-z0-9+/]+={0,2})")
NOTE_KEY, COSIGNATURE_KEY = 1, 4


class RefusedError(Exception):
    """This is not a proof pack, or there is no key to check it with."""


class InvalidError(Exception):
    """This is a proof pack, and something in it is not what was recorded."""


# --- 1. the archive ---------------------------------------------------------------------------------------------


def read_members(pack: bytes) -> dict[str, bytes]:
    """Name to bytes. The archive is refused before anything large is unpacked."""
    if len(pack) > MAX_PACK_BYTES:
        raise RefusedError(f"larger than a proof pack can be ({MAX_PACK_BYTES} bytes)")
    if not pack.startswith(b"PK\x03\x04"):
        raise RefusedError("not a ZIP archive")
    try:
        with zipfile.ZipFile(io.BytesIO(pack)) as archive:
            _check_names(archive.infolist())
            if len(archive.comment) != COMMENT_BYTES:
                raise RefusedError("not a proof pack: its comment is not a SHA-256 in hexadecimal")
            if hashlib.sha256(pack[:-COMMENT_BYTES]).hexdigest().encode() != pack[-COMMENT_BYTES:]:
                raise InvalidError("the file was changed: its bytes do not have the SHA-256 that its comment names")
            return {one.filename: _read(archive, one) for one in archive.infolist()}
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, OSError) as error:
        raise InvalidError(f"the archive is damaged: {error}") from error


def _check_names(entries: Sequence[zipfile.ZipInfo]) -> None:
    if len(entries) > MAX_MEMBERS:
        raise RefusedError(f"more than {MAX_MEMBERS} members")
    seen: set[str] = set()
    for entry in entries:
        name = entry.filename
        if name in seen:
            raise RefusedError(f"two members are called {name!r}")
        seen.add(name)
        if name not in REQUIRED + OPTIONAL and not FURTHER_POLICY.fullmatch(name) and not TIME_STAMP.fullmatch(name):
            raise RefusedError(f"{name!r} is not a member of a proof pack")
        if entry.file_size > MAX_MEMBER_BYTES or entry.flag_bits & 1:
            raise RefusedError(f"{name} is encrypted, or larger than {MAX_MEMBER_BYTES} bytes")
    if sum(entry.file_size for entry in entries) > MAX_TOTAL_BYTES:
        raise RefusedError(f"unpacked, it would be larger than {MAX_TOTAL_BYTES} bytes")
    missing = sorted(set(REQUIRED) - seen)
    if missing:
        raise RefusedError(f"not a proof pack: it has no {', '.join(missing)}")


def _read(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    with archive.open(entry) as member:
        content = member.read(entry.file_size + 1)
    if len(content) != entry.file_size:
        raise InvalidError(f"{entry.filename} does not have the size that the archive says")
    return content


# --- 2. the checkpoint ------------------------------------------------------------------------------------------


class Key:
    """A verifier key: NAME+ID+BASE64 of one byte for its kind and 32 of an Ed25519 public key."""

    def __init__(self, name: str, kind: int, public_key: bytes) -> None:
        self.name, self.kind, self.public_key = name, kind, public_key
        digest = hashlib.sha256(name.encode() + b"\n" + bytes([kind]) + public_key).digest()
        self.key_id = digest[:4]

    def verify(self, signature: bytes, message: bytes) -> None:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        try:
            Ed25519PublicKey.from_public_bytes(self.public_key).verify(signature, message)
        except InvalidSignature:
            raise InvalidError(f"the signature of {self.name} (key {self.key_id.hex()}) is not valid") from None


def parse_key(text: str) -> Key:
    match = VERIFIER_KEY.fullmatch(text.strip())
    material = _base64(match[3], "the key") if match else b""
    if not match or len(material) != 33 or material[0] not in (NOTE_KEY, COSIGNATURE_KEY):
        raise RefusedError(f"not a verifier key (NAME+ID+KEY): {text.strip()[:80]!r}")
    key = Key(match[1], material[0], material[1:])
    if key.key_id.hex() != match[2]:
        raise RefusedError(f"the verifier key {match[1]} has the identifier {key.key_id.hex()}, not {match[2]}")
    return key


def verify_checkpoint(text: str, keys: Sequence[Key]) -> Json:
    """Origin, size, root, who signed and who co-signed (with the time). A log's key is called as the log, or as what
    the names of several logs of one service begin with."""
    body, separator, tail = text.rpartition("\n\n")
    lines = body.split("\n")
    if not separator or len(lines) != 3 or not re.fullmatch(r"0|[1-9][0-9]{0,18}", lines[1]) or not tail.endswith("\n"):
        raise InvalidError("checkpoint.txt is not a checkpoint")
    message = (body + "\n").encode()
    root = _hash(lines[2], "the root of checkpoint.txt")
    origin = lines[0]
    signed_by: list[Json] = []
    cosigned_by: list[Json] = []
    others: list[Json] = []
    for line in tail[:-1].split("\n"):
        match = SIGNATURE_LINE.fullmatch(line)
        if not match:
            raise InvalidError("checkpoint.txt has a line that is no signature")
        signature, known = _base64(match[2], "a signature"), False
        for key in keys:
            name = origin if key.kind == NOTE_KEY and origin.startswith(key.name + "/") else key.name
            key_here = Key(name, key.kind, key.public_key)
            if (name, key_here.key_id) != (match[1], signature[:4]):
                continue
            known = True
            if key.kind == NOTE_KEY:
                key_here.verify(signature[4:], message)
                signed_by.append({"name": name, "key_id": key_here.key_id.hex()})
            else:
                time = int.from_bytes(signature[4:12], "big")
                key_here.verify(signature[12:], f"cosignature/v1\ntime {time}\n".encode() + message)
                cosigned_by.append({"name": name, "key_id": key_here.key_id.hex(), "time": time})
        if not known:
            others.append({"name": match[1], "key_id": signature[:4].hex()})
    if not signed_by:
        names = ", ".join(f"{one['name']} (key {one['key_id']})" for one in others) or "nobody"
        raise InvalidError(f"no key of yours signed this checkpoint; it was signed by {names}")
    return {"origin": origin, "size": int(lines[1]), "root": root, "signed_by": signed_by, "cosigned_by": cosigned_by,
            "not_checked": others}  # fmt: skip


def _verify_named_keys(text: str, checkpoint_text: str, origin: str) -> None:
    """keys.txt names keys that signed, each once, one a line. They are the pack's word: nothing is checked by them."""
    lines = text.split("\n")
    if lines.pop() or not lines or len(set(lines)) != len(lines):
        raise InvalidError("keys.txt does not hold verifier keys, one a line")
    for line in lines:
        try:
            key = parse_key(line)
        except RefusedError as error:
            raise InvalidError(f"keys.txt: {error}") from error
        if key.name != origin or key.kind != NOTE_KEY or line != line.strip():
            raise InvalidError(f"keys.txt names a key that is not one of {origin}")
        verify_checkpoint(checkpoint_text, [key])


# --- 3. the events ----------------------------------------------------------------------------------------------


def verify_events(document: Json, checkpoint_text: str, size: int, root: bytes) -> list[Json]:
    """The events, with header and payload read. Raises InvalidError."""
    entries = document.get("events") if list(document) == ["events"] else None
    if not isinstance(entries, list) or not entries:
        raise InvalidError("events.json holds no events")
    events: list[Json] = []
    before: Json | None = None
    for entry in entries:
        if not isinstance(entry, dict) or sorted(entry) != ["header", "payload", "proof", "salt"]:
            raise InvalidError("events.json: an event has header, payload, salt and proof")
        event = _verify_event(entry, checkpoint_text, size, root)
        if before is not None:
            _verify_order(before, event)
        events.append(event)
        before = event
    return events


def _verify_event(entry: Json, checkpoint_text: str, size: int, root: bytes) -> Json:
    event = read_entry(entry)
    number = event["header"]["seq"]
    where = f"event {number}"
    digest = bytes.fromhex(event["hash"].partition(":")[2])
    index, path, its_checkpoint = _parse_proof(entry["proof"], where)
    if its_checkpoint != checkpoint_text:
        raise InvalidError(f"{where}: its proof is of another checkpoint than checkpoint.txt")
    if index != number - 1:
        raise InvalidError(f"{where}: proved as number {index + 1}")
    if tree_root(hashlib.sha256(b"\x00" + digest).digest(), index, size, path, where) != root:
        raise InvalidError(f"{where}: it is not in the tree that was signed (the header was changed, or the proof)")
    return event


def read_entry(entry: Json) -> Json:
    """An event with its header and payload read, and the payload held against the header."""
    header = read_json(entry["header"], "a header")
    if list(header) != HEADER_KEYS or header["v"] != 1 or dump(header) != entry["header"]:
        raise InvalidError("events.json: a header is not of the form that is hashed")
    number = header["seq"]
    if not isinstance(number, int) or number < 1:
        raise InvalidError("events.json: a header without a number")
    where = f"event {number}"
    digest = hashlib.sha256(entry["header"].encode()).digest()
    data, actor = None, None
    if entry["payload"] is not None or entry["salt"] is not None:
        salt = bytes.fromhex(entry["salt"]) if re.fullmatch(r"(?:[0-9a-f]{2})+", str(entry["salt"])) else None
        if salt is None or not isinstance(entry["payload"], str):
            raise InvalidError(f"{where}: payload and salt belong together")
        if header["payload_digest"] != _digest(salt + entry["payload"].encode()):
            raise InvalidError(f"{where}: the payload is not the one that was recorded")
        payload = read_json(entry["payload"], f"the payload of {where}")
        data, actor = payload.get("data"), payload.get("actor")
        if not isinstance(data, dict) or not isinstance(actor, dict):
            raise InvalidError(f"{where}: the payload has no actor and data")
    return {"header": header, "hash": "sha256:" + digest.hex(), "data": data, "actor": actor}


def _verify_order(before: Json, event: Json) -> None:
    header, previous = event["header"], before["header"]
    if header["seq"] <= previous["seq"] or header["sealed_at"] < previous["sealed_at"]:
        raise InvalidError(f"event {header['seq']}: events are not in the order in which they were sealed")
    if header["seq"] == previous["seq"] + 1 and header["prev_hash"] != before["hash"]:
        raise InvalidError(f"event {header['seq']}: it does not follow the event before it")
    if header["org"] != previous["org"]:
        raise InvalidError(f"event {header['seq']}: it is of another organization")


def _parse_proof(text: str, where: str) -> tuple[int, list[bytes], str]:
    """C2SP tlog-proof: index, path and the checkpoint that they lead to."""
    head, _, checkpoint = str(text).partition("\n\n")
    lines = head.split("\n")
    if (
        len(lines) < 2
        or lines[0] != "c2sp.org/tlog-proof@v1"
        or not re.fullmatch(r"index (0|[1-9][0-9]{0,18})", lines[1])
    ):
        raise InvalidError(f"{where}: its proof is not a tlog-proof")
    return int(lines[1][6:]), [_hash(line, f"the proof of {where}") for line in lines[2:]], checkpoint


def tree_root(node: bytes, index: int, size: int, path: Sequence[bytes], where: str) -> bytes:
    """RFC 9162, section 2.1.3.2."""
    if index >= size:
        raise InvalidError(f"{where}: the checkpoint covers {size} events only")
    last = size - 1
    for sibling in path:
        if last == 0:
            raise InvalidError(f"{where}: its proof is too long")
        if index & 1 or index == last:
            node = hashlib.sha256(b"\x01" + sibling + node).digest()
            while not index & 1 and index:
                index, last = index >> 1, last >> 1
        else:
            node = hashlib.sha256(b"\x01" + node + sibling).digest()
        index, last = index >> 1, last >> 1
    if last != 0:
        raise InvalidError(f"{where}: its proof is too short")
    return node


# --- 4. what follows from the events -----------------------------------------------------------------------------


def views(action_id: str, events: Sequence[Json]) -> dict[str, bytes]:
    """The members that only repeat what events say, as the events say it: name to bytes."""
    own = [one for one in events if one["header"]["action"] == action_id]
    found = {"action.json": member(_action(action_id, own)), "decision.json": member(decision_of(own))}
    approval = _approval(own)
    if approval is not None:
        found["approval.json"] = member(approval)
    return found


def _action(action_id: str, events: Sequence[Json]) -> Json:
    submitted = _first(events, "action.submitted")
    data = submitted["data"] or {}
    view = {"id": action_id, "agent_id": submitted["header"]["agent"], "created_at": submitted["header"]["created_at"]}
    view.update(data)
    ended = [one for one in events if one["header"]["type"] in ("execution.completed", "execution.failed")]
    view["outcome"] = None
    if ended:
        last = ended[-1]
        view["outcome"] = dict(last["data"] or {}, succeeded=last["header"]["type"] == "execution.completed",
                               completed_at=last["header"]["created_at"])  # fmt: skip
    view["status"] = _status(events)
    return view


def _status(events: Sequence[Json]) -> str | None:
    status: str | None = None
    for event in events:
        kind, data = event["header"]["type"], event["data"] or {}
        if kind == "decision.made" and status is None:
            first = {"allow": "allowed", "deny": "denied", "require_approval": "pending_approval"}
            status = first.get(str(data.get("decision")))
        elif kind == "execution.failed":
            status = "approved" if "approval_given_back" in data else "failed"
        else:
            status = {"approval.requested": "pending_approval", "approval.approved": "approved",
                      "approval.denied": "denied", "approval.expired": "denied", "approval.superseded": "denied",
                      "execution.started": "executing", "execution.completed": "completed",
                      }.get(kind, status)  # fmt: skip
    return status


def decision_of(events: Sequence[Json]) -> Json:
    made = [dict(one["data"] or {}, event_id=one["header"]["id"], decided_at=one["header"]["created_at"])
            for one in events if one["header"]["type"] == "decision.made"]  # fmt: skip
    if not made:
        raise InvalidError("events.json holds no decision")
    return dict(made[0], later=made[1:])


def _approval(events: Sequence[Json]) -> Json | None:
    requested = [one for one in events if one["header"]["type"] == "approval.requested"]
    if not requested:
        return None
    about = [one for one in events if one["header"]["type"].startswith("approval.")]
    history = [{"event_id": one["header"]["id"], "event_type": one["header"]["type"], "at": one["header"]["created_at"],
                "actor": one["actor"], "data": one["data"]} for one in about]  # fmt: skip
    last = about[-1]["header"]["type"].partition(".")[2]
    status = last if last in ("approved", "denied", "expired") else "expired" if last == "superseded" else "pending"
    data = requested[-1]["data"] or {}
    used = [(one["data"] or {}).get("execution_id") for one in events
            if one["header"]["type"] == "execution.started" and (one["data"] or {}).get("approval_id")]  # fmt: skip
    return dict(data, status=status, history=history, used_by=used[-1] if used else None)


def submitted_of(events: Sequence[Json]) -> Json:
    """What the action's first event says."""
    data: Json = _first(events, "action.submitted")["data"] or {}
    return data


def spoken_policies(decision: Json) -> list[tuple[str, int]]:
    """(id, version) of the rule policies that made the decision."""
    return [(one["id"], one["version"]) for one in decision.get("policies") or []]


def all_policies(decision: Json) -> list[tuple[str, int]]:
    """Those of the decisions that were made later, too, when an approval was used."""
    return [which for made in (decision, *decision["later"]) for which in spoken_policies(made)]


def deciding_policy(decision: Json) -> tuple[str, int] | None:
    """(id, version) of the policy whose text is policy.rego; None: no rule policy spoke."""
    spoken = spoken_policies(decision)
    named = [one for one in spoken if one[0] == decision.get("policy_id")]
    return next(iter(named or spoken), None)


def policy_note(decision: Json) -> str:
    """What stands in policy.rego where no policy's text can."""
    return NO_POLICY if "decision" in decision else ERASED_POLICY


def forgotten(action_id: str, events: Sequence[Json]) -> Json | None:
    """What the record says of the action's bodies having been erased, or dropped by the organization's rules."""
    found: Json | None = None
    for event in events:
        header, data = event["header"], event["data"] or {}
        if header["type"] == "body.erased" and header["action"] == action_id and data.get("depth"):
            wider = "everything" if found and found["depth"] == "everything" else data["depth"]
            found = {"how": "erased", "depth": wider, "at": header["created_at"], "seq": header["seq"],
                     "reason": data.get("reason"), "by": (event["actor"] or {}).get("id")}  # fmt: skip
        elif (
            header["type"] == "body.dropped" and header["action"] is None and found is None
            and data.get("kind") == "bodies" and data["first_action_id"] <= action_id <= data["last_action_id"]
        ):  # fmt: skip
            found = {"how": "dropped", "depth": "bodies", "at": header["created_at"], "seq": header["seq"],
                     "reason": "its time was up", "by": (event["actor"] or {}).get("id")}  # fmt: skip
    return found


def _verify_forgotten(own: Sequence[Json], gone: Json | None) -> None:
    """A payload is missing only where a later event of the action says that everything was erased."""
    for event in own:
        number = event["header"]["seq"]
        if event["data"] is None and not (gone and gone["depth"] == "everything" and number < gone["seq"]):
            raise InvalidError(f"event {number}: its payload is missing, and no event says that it was erased")


def verification(action_id: str, events: Sequence[Json], checkpoint: Json, members: Mapping[str, bytes]) -> bytes:
    """verification.json: what was proved, and the digest of every other member."""
    return member({
        "format": FORMAT,
        "action_id": action_id,
        "organization": events[0]["header"]["org"],
        "origin": checkpoint["origin"],
        "tree_size": checkpoint["size"],
        "root": "sha256:" + checkpoint["root"].hex(),
        "events": [{"id": one["header"]["id"], "type": one["header"]["type"], "seq": one["header"]["seq"],
                    "hash": one["hash"]} for one in events],
        "members": {name: _digest(content) for name, content in sorted(members.items()) if name != "verification.json"},
    })  # fmt: skip


def _verify_policies(members: Mapping[str, bytes], events: Sequence[Json], decision: Json) -> None:
    """Each policy's text has the digest that its version's own event recorded."""
    recorded = {(one["data"]["policy_id"], one["data"]["version"]): one["data"].get("rego_sha256")
                for one in events if one["header"]["type"] in ("policy.created", "policy.updated", "policy.restored")
                and one["data"]}  # fmt: skip
    deciding = deciding_policy(decision)
    wanted: dict[str, tuple[str, int] | None] = {"policy.rego": deciding}
    wanted.update({name: (match[1], int(match[2])) for name in members if (match := FURTHER_POLICY.fullmatch(name))})
    for name, which in wanted.items():
        if which is None:
            if members[name] != policy_note(decision).encode():
                raise InvalidError(f"{name}: no policy decided, but a policy is included")
        elif recorded.get(which) != _digest(members[name]):
            raise InvalidError(f"{name} is not the text of policy {which[0]}, version {which[1]}, that was recorded")


def _verify_digest(members: Mapping[str, bytes], name: str, recorded: str | None) -> None:
    if (name in members) != (recorded is not None) or (recorded is not None and _digest(members[name]) != recorded):
        raise InvalidError(f"{name} is not what was recorded with the action")


# --- all of it ---------------------------------------------------------------------------------------------------


def verify_pack(pack: bytes, keys: Sequence[Key], check_stamp: StampCheck | None = None) -> Json:
    """What the pack proves. Raises RefusedError and InvalidError.

    ``check_stamp`` says of a time stamp and the checkpoint's three lines when that was; this file cannot (README.md).
    """
    try:
        return _verify_pack(pack, keys, check_stamp)
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise InvalidError(f"a member does not have the form that it must have ({type(error).__name__})") from error


def _verify_pack(pack: bytes, keys: Sequence[Key], check_stamp: StampCheck | None) -> Json:
    if not any(key.kind == NOTE_KEY for key in keys):
        raise RefusedError("a key of the service is needed (--key), and not only a witness's")
    members = read_members(pack)
    if hashlib.sha256(members["README.md"]).hexdigest() not in READMES_SHA256:
        raise InvalidError("README.md is not that of this format")
    checkpoint_text = _text(members["checkpoint.txt"], "checkpoint.txt")
    checkpoint = verify_checkpoint(checkpoint_text, keys)
    if "keys.txt" in members:
        _verify_named_keys(_text(members["keys.txt"], "keys.txt"), checkpoint_text, checkpoint["origin"])
    document = read_json(_text(members["events.json"], "events.json"), "events.json")
    events = verify_events(document, checkpoint_text, checkpoint["size"], checkpoint["root"])
    if member(document) != members["events.json"]:
        raise InvalidError("events.json is not of the form that is written")
    if not checkpoint["origin"].endswith("/" + events[0]["header"]["org"]):
        raise InvalidError("the events are of another organization than the checkpoint")
    action_id = read_json(_text(members["action.json"], "action.json"), "action.json").get("id")
    if not isinstance(action_id, str):
        raise InvalidError("action.json names no action")
    submitted = _first([one for one in events if one["header"]["action"] == action_id], "action.submitted")
    for name, content in views(action_id, events).items():
        if members.get(name) != content:
            raise InvalidError(f"{name} does not agree with the events")
    if "approval.json" in members and "approval.json" not in views(action_id, events):
        raise InvalidError("approval.json: the events record no approval")
    data = submitted["data"] or {}
    gone = forgotten(action_id, events)
    _verify_forgotten([one for one in events if one["header"]["action"] == action_id], gone)
    if gone is None or "request.json" in members:
        _verify_digest(members, "request.json", data.get("request_digest"))
    _verify_digest(members, "catalogue.json", data.get("catalogue_sha256") if "catalogue.json" in members else None)
    decision = json.loads(members["decision.json"])
    _verify_policies(members, events, decision)
    if verification(action_id, events, checkpoint, members) != members["verification.json"]:
        raise InvalidError("verification.json does not fit the other members")
    stamps = sorted(name for name in members if TIME_STAMP.fullmatch(name))
    body = checkpoint_text.rpartition("\n\n")[0] + "\n"
    return {
        "valid": True,
        "action_id": action_id,
        "organization": events[0]["header"]["org"],
        "tool": data.get("tool"),
        "operation": data.get("operation"),
        "decision": decision.get("decision"),
        "status": json.loads(members["action.json"])["status"],
        "created_at": submitted["header"]["created_at"],
        "events": len(events),
        "request_is_there": "request.json" in members,
        "forgotten": gone,
        "origin": checkpoint["origin"],
        "tree_size": checkpoint["size"],
        "root": "sha256:" + checkpoint["root"].hex(),
        "signed_by": checkpoint["signed_by"],
        "cosigned_by": checkpoint["cosigned_by"],
        "signatures_not_checked": checkpoint["not_checked"],
        "time_stamps": [{"name": name, "time": check_stamp(members[name], body)} for name in stamps if check_stamp],
        "time_stamps_not_checked": [] if check_stamp else stamps,
    }


def read_keys(given: Iterable[str]) -> list[Key]:
    """Verifier keys, files of them (one a line, as headgate audit key prints them), or what
    /.well-known/headgate-keys answered."""
    keys: list[Key] = []
    for one in given:
        text = one
        if not VERIFIER_KEY.fullmatch(one.strip()):
            try:
                with open(one, encoding="utf-8") as file:
                    text = file.read(1 << 20)
            except (OSError, UnicodeDecodeError) as error:
                raise RefusedError(f"{one!r} is neither a verifier key nor a file of them") from error
        if text.lstrip().startswith("{"):
            text = "\n".join(key["vkey"] for key in read_json(text, one)["keys"])
        keys += [parse_key(word) for word in text.split() if word not in KEY_STATUSES]
    return keys


def read_json(text: str, what: str) -> Json:
    """One object, in the only way it can be read: no member twice, no number that JSON does not know."""

    def once(pairs: list[tuple[str, Any]]) -> Json:
        if len({name for name, _ in pairs}) != len(pairs):
            raise ValueError("a member is there twice")
        return dict(pairs)

    def never(constant: str) -> None:
        raise ValueError(f"{constant} is not JSON")

    try:
        document = json.loads(text, object_pairs_hook=once, parse_constant=never)
    except (ValueError, TypeError, RecursionError) as error:
        raise InvalidError(f"{what} is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise InvalidError(f"{what} is not an object")
    return document


def dump(document: Json) -> str:
    """As everything in a pack is written: sorted, without spaces."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def member(document: Json) -> bytes:
    return (dump(document) + "\n").encode()


def _digest(content: bytes) -> str:
    return "sha256:" + hashlib.sha256(content).hexdigest()


def _first(events: Sequence[Json], kind: str) -> Json:
    for event in events:
        if event["header"]["type"] == kind:
            return event
    raise InvalidError(f"events.json holds no {kind} of the action")


def _text(content: bytes, name: str) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise InvalidError(f"{name} is not UTF-8") from None


def _base64(text: str, what: str) -> bytes:
    try:
        raw = base64.b64decode(text, validate=True)
    except ValueError:
        raise InvalidError(f"{what} is not base64") from None
    if base64.b64encode(raw).decode() != text:
        raise InvalidError(f"{what} is not base64 as it is written")
    return raw


def _hash(text: str, what: str) -> bytes:
    raw = _base64(text, what)
    if len(raw) != 32:
        raise InvalidError(f"{what} is not a SHA-256")
    return raw


def describe(report: Json) -> Iterator[str]:
    """For people: one fact a line."""
    yield f"VALID: action {report['action_id']} ({report['tool']}.{report['operation']}), {report['status']}"
    yield f"  decided     {report['decision']}, submitted {report['created_at']}"
    yield f"  record      {report['events']} events of {report['organization']}, in a tree of {report['tree_size']}"
    if report["forgotten"]:
        gone = report["forgotten"]
        yield f"  {gone['how']:<11} {gone['depth']}, {gone['at']} by {gone['by']}: {gone['reason']}"
    for one in report["signed_by"]:
        yield f"  signed      {one['name']} (key {one['key_id']})"
    for one in report["cosigned_by"]:
        yield f"  co-signed   {one['name']} (key {one['key_id']}) at {one['time']} s since 1970"
    for one in report["time_stamps"]:
        yield f"  time stamp  {one['name']}: {one['time']}"
    for one in report["signatures_not_checked"]:
        yield f"  not checked {one['name']} (key {one['key_id']}): no key was given for it"
    for name in report["time_stamps_not_checked"]:
        yield f"  not checked {name}: openssl ts -verify (README.md)"


def run(path: str, keys: Iterable[str], as_json: bool, check_stamp: StampCheck | None = None) -> int:
    """Print what was found; the status to exit with."""
    status = 0
    try:
        with open(path, "rb") as file:
            pack = file.read(MAX_PACK_BYTES + 1)
        report = verify_pack(pack, read_keys(keys), check_stamp)
    except (RefusedError, InvalidError) as error:
        status = 1 if isinstance(error, InvalidError) else 2
        report = {"valid": False, "refused": status == 2, "reason": str(error)}
    except OSError as error:
        status, report = 2, {"valid": False, "refused": True, "reason": f"{path}: {error.strerror}"}
    if as_json:
        print(json.dumps(report, indent=2))
    elif status == 0:
        print("\n".join(ascii(line)[1:-1] for line in describe(report)))
    else:
        print(f"{'NOT VALID' if status == 1 else 'REFUSED'}: {ascii(report['reason'])[1:-1]}", file=sys.stderr)
    return status


def main() -> None:
    parser = argparse.ArgumentParser(description="Verify a Headgate proof pack, without network.")
    parser.add_argument("pack")
    parser.add_argument("--key", action="append", default=[], help="a verifier key, or a file of them")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    sys.exit(run(arguments.pack, arguments.key, arguments.json))


if __name__ == "__main__":
    main()
