"""Handing one checkpoint to one target. Each raises ExportError where the target has not taken it.

Targets are the operator's own choice, in the process' settings, and may be private addresses; no redirect is followed
and no proxy of the environment is asked.
"""

import base64
import ssl
from typing import Final

import httpx
from msgspec import Struct

from headgate.evidence.attestation_store import Attestation, AttestationKind
from headgate.evidence.bucket import get_request, put_request
from headgate.evidence.checkpoint import Checkpoint, cosigned_at, parse_checkpoint
from headgate.evidence.export_targets import (
    BucketTarget,
    DirectoryTarget,
    HttpTarget,
    Target,
    TimestampTarget,
    WitnessTarget,
)
from headgate.evidence.note import SignedNote, parse_note, parse_signature_line
from headgate.evidence.time_stamp import QUERY_TYPE, check_response, query
from headgate.kernel.atomic_file import create_file
from headgate.kernel.clock import system_clock
from headgate.kernel.errors import ValidationError
from headgate.kernel.public_roots import public_roots
from headgate.outgoing.httpx_transport import open_operator_client
from headgate.outgoing.upstream_proxy import UpstreamProxy

EXPORT_SECONDS: Final = 15.0
_MAX_ANSWER_BYTES: Final = 64 * 1024


class ExportError(Exception):
    """The target did not take it; the message may be shown."""


class WitnessBehindError(ExportError):
    """The witness knows another size of this log than we think (tlog-witness: 409); ``size`` is what it knows."""

    def __init__(self, size: int) -> None:
        super().__init__(f"the witness last saw {size} events")
        self.size = size


class Outgoing(Struct, frozen=True):
    """A checkpoint on its way; ``text`` is the signed note."""

    org_id: str
    checkpoint: Checkpoint
    text: str

    @property
    def key(self) -> str:
        """Its name where targets name things; sizes sort as text."""
        return f"{self.org_id}/{self.checkpoint.size:015d}.checkpoint"


def outgoing(org_id: str, text: str) -> Outgoing:
    return Outgoing(org_id, parse_checkpoint(parse_note(text)), text)


def open_export_client(roots: ssl.SSLContext | None = None, proxy: UpstreamProxy | None = None) -> httpx.AsyncClient:
    """``roots`` None: the public ones."""
    return open_operator_client(roots or public_roots(), EXPORT_SECONDS, proxy)


async def send(client: httpx.AsyncClient, target: Target, item: Outgoing) -> Attestation | None:
    """What the target said about it, where it says anything. A witness is asked by ``ask_witness``."""
    match target:
        case DirectoryTarget():
            _write(target, item)
        case BucketTarget():
            await _put(client, target, item)
        case HttpTarget():
            await _answer(client, "POST", target.url, item.text.encode(), {"content-type": "text/plain; charset=utf-8"})
        case TimestampTarget():
            return await _stamp(client, target, item)
        case WitnessTarget():
            raise ExportError("a witness needs a consistency proof")
    return None


def _write(target: DirectoryTarget, item: Outgoing) -> None:
    """A file that is there already must be the same: it is evidence, and never replaced."""
    path = target.folder / item.key
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not create_file(path, item.text.encode(), mode=0o444) and path.read_text("utf-8") != item.text:
            raise ExportError(f"{path} is there already, and holds another checkpoint")
    except OSError as error:
        raise ExportError(f"{path}: {error.strerror}") from error


async def _put(client: httpx.AsyncClient, target: BucketTarget, item: Outgoing) -> None:
    url, headers = put_request(target, item.key, item.text.encode(), system_clock())
    answer = await _request(client, "PUT", url, item.text.encode(), headers)
    if answer.status_code == httpx.codes.PRECONDITION_FAILED:
        # From a try whose answer was lost, or from somebody else; what is locked is not written twice.
        await _require_same(client, target, item)
        return
    _require_success(answer)


async def _require_same(client: httpx.AsyncClient, target: BucketTarget, item: Outgoing) -> None:
    """What lies there must be this checkpoint: evidence that says something else is the alarm that this is for."""
    url, headers = get_request(target, item.key, system_clock())
    answer = await _request(client, "GET", url, b"", headers)
    if not answer.is_success:
        raise ExportError(
            f"{item.key} is there already, and cannot be compared (s3:GetObject is needed):"
            f" answered {answer.status_code}: {answer.text[:200]}"
        )
    if answer.content != item.text.encode():
        raise ExportError(f"{item.key} is there already, and holds another checkpoint")


async def _stamp(client: httpx.AsyncClient, target: TimestampTarget, item: Outgoing) -> Attestation:
    body = item.checkpoint.body()
    asked = query(body)
    answer = await _answer(client, "POST", target.url, asked.as_bytes(), {"content-type": QUERY_TYPE})
    try:
        document = check_response(answer.content, asked, body, target.roots)
    except ValidationError as error:
        raise ExportError(error.message) from error
    return Attestation(AttestationKind.TIMESTAMP, _host_of(target.url), document)


async def ask_witness(
    client: httpx.AsyncClient, target: WitnessTarget, item: Outgoing, old_size: int, path: tuple[bytes, ...]
) -> Attestation:
    """Raises WitnessBehindError besides: then ask with the size that it names."""
    proof = "".join(base64.b64encode(one).decode() + "\n" for one in path)
    content = f"old {old_size}\n{proof}\n{item.text}".encode()
    answer = await _request(client, "POST", f"{target.prefix}/add-checkpoint", content, {"content-type": "text/plain"})
    if answer.status_code == httpx.codes.CONFLICT and answer.text.strip().isdecimal():
        size = int(answer.text.strip())
        if size <= item.checkpoint.size and size != old_size:
            raise WitnessBehindError(size)
        raise ExportError(f"the witness has seen {size} events of this log, with another root or more than there are")
    _require_success(answer)
    note = parse_note(item.text)
    for line in answer.text.splitlines():
        try:
            signed = SignedNote(note.text, (parse_signature_line(line),))
            if cosigned_at(signed, target.key) is not None:
                return Attestation(AttestationKind.COSIGNATURE, _host_of(target.prefix), line + "\n")
        except ValidationError as error:
            raise ExportError(f"the witness's answer is not a valid co-signature: {error.message}") from error
    raise ExportError("the witness answered without a co-signature of the key that it should have")


async def _answer(
    client: httpx.AsyncClient, method: str, url: str, content: bytes, headers: dict[str, str]
) -> httpx.Response:
    answer = await _request(client, method, url, content, headers)
    _require_success(answer)
    return answer


async def _request(
    client: httpx.AsyncClient, method: str, url: str, content: bytes, headers: dict[str, str]
) -> httpx.Response:
    try:
        async with client.stream(method, url, content=content, headers=headers) as answer:
            body = b""
            async for piece in answer.aiter_bytes():
                body += piece
                if len(body) > _MAX_ANSWER_BYTES:
                    raise ExportError("the answer is longer than such an answer can be")
            return httpx.Response(answer.status_code, headers=answer.headers, content=body)
    except httpx.HTTPError as error:
        raise ExportError(f"no answer: {str(error) or type(error).__name__}") from error


def _require_success(answer: httpx.Response) -> None:
    if not answer.is_success:
        raise ExportError(f"answered {answer.status_code}: {answer.text[:200]}")


def _host_of(url: str) -> str:
    """A name for files: ``timestamps/NAME.tsr``."""
    return (httpx.URL(url).host or "unknown").lower().replace(":", "-")[:62]
