"""Git over HTTP (gitprotocol-http, gitprotocol-pack, gitprotocol-v2), and the batch requests of Git LFS.

Recognised by the path, by which servers choose what to do: ``/git-receive-pack``, ``/git-upload-pack``,
``/info/refs``. A push that cannot be read whole is refused, since its server may read it: a policy that protects a
branch would not see it.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct

from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.kernel.errors import AmbiguousRequestError
from headgate.protocols.body import Body, BodyKind
from headgate.protocols.content_type import read_content_type
from headgate.protocols.draft import Effect, ReadCall
from headgate.protocols.git_pack import PushedCommits
from headgate.protocols.headers import Headers
from headgate.protocols.member_names import refuse_other_spellings, spellings

GIT_TOOL: Final = "git"
_PUSH: Final = "/git-receive-pack"
_FETCH: Final = "/git-upload-pack"
_REFS: Final = "/info/refs"
_LFS: Final = "/info/lfs/objects/batch"
_LFS_MEMBERS: Final = spellings("operation", "objects", "ref", "transfers", "oid", "size")
_SERVICES: Final = frozenset({"git-upload-pack", "git-receive-pack"})
_FETCH_TYPE: Final = "application/x-git-upload-pack-request"
_ENCODED_SLASH: Final = "%2F"
_FLUSH, _DELIMITER, _RESPONSE_END = 0, 1, 2
_LENGTH_DIGITS: Final = 4
_SHA1_DIGITS: Final = 40
_UPDATES_MAX: Final = 1_000
_OPTIONS_MAX: Final = 100
_NAME_BYTES_MAX: Final = 1_024
_COMMAND: Final = re.compile(
    rb"([0-9a-f]{40}|[0-9a-f]{64}) ([0-9a-f]{40}|[0-9a-f]{64}) ([^\x00-\x20\x7f]+)", re.IGNORECASE
)
_SHALLOW: Final = re.compile(rb"shallow (?:[0-9a-f]{40}|[0-9a-f]{64})", re.IGNORECASE)
_ID: Final = rb"(?:[0-9a-f]{40}|[0-9a-f]{64})"
_FETCH_LINE: Final = re.compile(
    rb"command=(?P<command>ls-refs|fetch|object-info)|(?P<want>want) " + _ID + rb"(?: [ -~]{1,512})?"
    rb"|(?:have|shallow|oid) "
    + _ID
    + rb"|(?:want-ref|ref-prefix) [!-~]{1,1024}|(?:agent|object-format|session-id)=[!-~]{1,256}"
    rb"|deepen(?:-since|-not|-relative)?(?: [!-~]{1,256})?|filter [!-~]{1,256}|packfile-uris [!-~]{1,256}"
    rb"|peel|symrefs|unborn|thin-pack|no-progress|include-tag|ofs-delta|sideband-all|wait-for-done|size|done",
    re.IGNORECASE,
)


class GitOperation(StrEnum):
    """``PROBE``: a push without an update, by which a client tries its credential before it sends a large one."""

    LIST_REFS = "list_refs"
    FETCH = "fetch"
    PROBE = "probe"
    PUSH = "push"
    LFS_DOWNLOAD = "lfs_download"
    LFS_UPLOAD = "lfs_upload"


class Change(StrEnum):
    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"


class RefUpdate(Struct, frozen=True):
    """``fast_forward``: the old commit leads to the new one, as the pushed commits prove. Otherwise it may be a forced
    update: only the server knows all commits."""

    ref: str
    change: Change
    old: str
    new: str
    fast_forward: bool

    def record(self) -> JsonObject:
        return {
            "ref": self.ref,
            "change": self.change,
            "old": self.old,
            "new": self.new,
            "fast_forward": self.fast_forward,
        }


class Push(Struct, frozen=True):
    """``options``: texts for the server's hooks, which some servers obey (gitprotocol-pack, "push-options")."""

    updates: Sequence[RefUpdate]
    options: Sequence[str]


class GitRequest(Struct, frozen=True):
    """``facts``: what policies read as ``input.git``."""

    operation: GitOperation
    effect: Effect
    facts: JsonObject


def recognise(read_call: ReadCall, headers: Headers, body: Body) -> GitRequest | None:
    """None where the call is none of Git's. Raises AmbiguousRequestError: a push that cannot be read whole, and one of
    Git's addresses, or a member of Git LFS, in a spelling that only some servers take for it."""
    method, path = read_call.call.method, read_call.path
    if method == "POST":
        _require_plain(path)
    if _ENCODED_SLASH in path:
        _require_other(method, path.replace(_ENCODED_SLASH, "/"), read_call.query)
    if method == "POST" and path.endswith(_PUSH):
        return _push(read_call, headers)
    if method == "POST" and path.endswith(_FETCH):
        return _fetch(read_call, headers)
    if method == "POST" and path.endswith(_LFS):
        return _lfs(read_call, body)
    if method == "GET" and path.endswith(_REFS) and (service := _service(read_call.query)) is not None:
        facts: JsonObject = {"repository": _repository(path, _REFS), "service": service}
        return GitRequest(GitOperation.LIST_REFS, Effect.READ, facts)
    return None


def _require_other(method: str, path: str, query: JsonObject) -> None:
    """GitLab takes ``/group%2Fproject.git`` for ``/group/project.git``; policies would read another repository."""
    is_post = method == "POST" and path.endswith((_PUSH, _FETCH, _LFS))
    if is_post or (method == "GET" and path.endswith(_REFS) and _service(query) is not None):
        raise AmbiguousRequestError(
            "the path can be read in more than one way: an encoded slash in an address of Git",
            details={"field": "path"},
        )


def _require_plain(path: str) -> None:
    """Servers on the Servlet API cut what follows a ``;`` from a segment, and those of IIS ignore case."""
    name = path.rpartition("/")[2]
    if name not in _SERVICES and name.partition(";")[0].lower() in _SERVICES:
        raise AmbiguousRequestError(
            "the path can be read in more than one way: some servers take it for an address of Git",
            details={"field": "path"},
        )


def _push(read_call: ReadCall, headers: Headers) -> GitRequest:
    if headers.content_encoding is not None:
        raise _unreadable("it is in a content coding, which Git does not use here")
    push = read_push(read_call.call.body)
    facts: JsonObject = {
        "repository": _repository(read_call.path, _PUSH),
        "updates": [one.record() for one in push.updates],
        "options": [*push.options],
    }
    if not push.updates:
        return GitRequest(GitOperation.PROBE, Effect.READ, facts)
    deletes = any(one.change is Change.DELETE for one in push.updates)
    return GitRequest(GitOperation.PUSH, Effect.DESTRUCTIVE if deletes else Effect.WRITE, facts)


def read_push(body: bytes) -> Push:
    """A push (gitprotocol-pack, "Reference Update Request and Packfile Transfer"). Raises AmbiguousRequestError."""
    reader = _PacketReader(body)
    commands: list[tuple[bytes, bytes, bytes]] = []
    has_options = False
    for line in reader.section():
        if not commands and _SHALLOW.fullmatch(line):
            continue
        text, nul, capabilities = line.partition(b"\0")
        if bool(nul) == bool(commands):
            raise _unreadable("its capabilities are not behind the first command, or it is signed")
        found = _COMMAND.fullmatch(text)
        if found is None or len(found[3]) > _NAME_BYTES_MAX or len({len(found[1]), len(found[2])}) != 1:
            raise _unreadable("a command is not of the form OLD NEW REF")
        if nul:
            has_options = _has_options(capabilities)
        commands.append((found[1].lower(), found[2].lower(), found[3]))
        if len(commands) > _UPDATES_MAX:
            raise _unreadable(f"it updates more than {_UPDATES_MAX} refs")
    options = list(_options(reader.section())) if has_options else []
    pack = reader.rest()
    if pack and not commands:
        raise _unreadable("it has data and no command")
    if len({ref for _, _, ref in commands}) != len(commands):
        raise _unreadable("it names a ref twice")
    commits = PushedCommits(pack, is_sha1=all(len(new) == _SHA1_DIGITS for _, new, _ in commands))
    return Push([_update(old, new, ref, commits) for old, new, ref in commands], options)


def _has_options(capabilities: bytes) -> bool:
    """As Git looks for a capability: until the next NUL, and with a value, too."""
    return any(one.partition(b"=")[0] == b"push-options" for one in capabilities.partition(b"\0")[0].split())


def _options(lines: Iterable[bytes]) -> Iterator[str]:
    for number, line in enumerate(lines):
        if number == _OPTIONS_MAX or len(line) > _NAME_BYTES_MAX:
            raise _unreadable(f"it has more than {_OPTIONS_MAX} push options, or one of over {_NAME_BYTES_MAX} bytes")
        try:
            yield line.decode()
        except UnicodeDecodeError:
            raise _unreadable("a push option is not UTF-8") from None


def _update(old: bytes, new: bytes, ref: bytes, commits: PushedCommits) -> RefUpdate:
    creates, deletes = not old.strip(b"0"), not new.strip(b"0")
    if creates and deletes:
        raise _unreadable("a command neither creates nor updates nor deletes")
    try:
        name = ref.decode()
    except UnicodeDecodeError:
        raise _unreadable("the name of a ref is not UTF-8") from None
    change = Change.CREATE if creates else Change.DELETE if deletes else Change.UPDATE
    is_forward = change is Change.UPDATE and commits.lead_back(new.decode(), old.decode())
    return RefUpdate(name, change, old.decode(), new.decode(), is_forward)


def _fetch(read_call: ReadCall, headers: Headers) -> GitRequest:
    """A read where every line is one that Git's clients send. Anything else may be data for somebody's server."""
    facts: JsonObject = {"repository": _repository(read_call.path, _FETCH), "command": None, "wants": None}
    is_labelled = read_content_type(headers.content_type or "").media_type == _FETCH_TYPE
    if headers.content_encoding is not None or not is_labelled:
        return GitRequest(GitOperation.FETCH, Effect.WRITE, facts)
    command, wants = "fetch", 0
    try:
        for line in _PacketReader(read_call.call.body).lines():
            found = _FETCH_LINE.fullmatch(line)
            if found is None:
                return GitRequest(GitOperation.FETCH, Effect.WRITE, facts)
            wants += found["want"] is not None
            if found["command"] is not None:
                command = found["command"].decode().lower()
    except AmbiguousRequestError:
        return GitRequest(GitOperation.FETCH, Effect.WRITE, facts)
    return GitRequest(GitOperation.FETCH, Effect.READ, facts | {"command": command, "wants": wants})


def _lfs(read_call: ReadCall, body: Body) -> GitRequest | None:
    """Git LFS, "Batch API": what follows it goes to addresses that its answer names, each a call of its own."""
    value = body.value if body.kind is BodyKind.JSON else None
    if not isinstance(value, dict):
        return None
    refuse_other_spellings(value, _LFS_MEMBERS, within="Git LFS request")
    objects = value.get("objects")
    for one in objects if isinstance(objects, list) else ():
        refuse_other_spellings(one, _LFS_MEMBERS, within="Git LFS request")
    sizes = [one.get("size") for one in objects if isinstance(one, dict)] if isinstance(objects, list) else []
    facts: JsonObject = {
        "repository": _repository(read_call.path, _LFS),
        "objects": len(sizes),
        "bytes": sum(size for size in sizes if isinstance(size, int)),
    }
    if value.get("operation") == "download":
        return GitRequest(GitOperation.LFS_DOWNLOAD, Effect.READ, facts)
    return GitRequest(GitOperation.LFS_UPLOAD, Effect.WRITE, facts)


class _PacketReader:
    """Lines of the packet format (gitprotocol-common, "pkt-line Format"), without their line feeds."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def section(self) -> Iterator[bytes]:
        """Until a flush packet, which must come. Raises AmbiguousRequestError."""
        while True:
            kind, line = self._next()
            if kind == _FLUSH:
                return
            if kind != len(line) + _LENGTH_DIGITS:
                raise _unreadable("a packet of another protocol version is in it")
            yield line.removesuffix(b"\n")

    def lines(self) -> Iterator[bytes]:
        """All of the data, whatever separates the lines. Raises AmbiguousRequestError."""
        while self._at < len(self._data):
            kind, line = self._next()
            if kind > _RESPONSE_END:
                yield line.removesuffix(b"\n")

    def rest(self) -> bytes:
        return self._data[self._at :]

    def _next(self) -> tuple[int, bytes]:
        digits = self._data[self._at : self._at + _LENGTH_DIGITS]
        try:
            length = int(digits, 16) if len(digits) == _LENGTH_DIGITS and digits.isalnum() else -1
        except ValueError:
            length = -1
        start, end = self._at + _LENGTH_DIGITS, self._at + max(length, _LENGTH_DIGITS)
        if length < 0 or length == _LENGTH_DIGITS - 1 or end > len(self._data):
            raise _unreadable("it is cut, or no packets are in it")
        self._at = end
        return length, self._data[start:end]


def _service(query: JsonObject) -> str | None:
    values = query.get("service")
    return str(values[0]) if isinstance(values, list) and len(values) == 1 and values[0] in _SERVICES else None


def _repository(path: str, suffix: str) -> JsonValue:
    return path.removesuffix(suffix).removeprefix("/")


def _unreadable(why: str) -> AmbiguousRequestError:
    return AmbiguousRequestError(f"the push cannot be read: {why}", details={"field": "body"})
