"""Proof packs in bulk: taking them, and looking at what somebody else took.

A folder of packs, or one bundle (a ZIP of them), each with a ``manifest.json`` that names every pack and its digest.
"""

import hashlib
import io
import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from headgate.cli.api_client import ApiClient
from headgate.cli.progress import Progress
from headgate.client import operations
from headgate.evidence.pack_verifier import MAX_PACK_BYTES, InvalidError, Key, RefusedError, verify_pack
from headgate.kernel.atomic_file import replace_file
from headgate.kernel.errors import HeadgateError, UnavailableError, ValidationError

FORMAT: Final = "headgate-proof-packs/v1"
_MANIFEST: Final = "manifest.json"
_PAGE: Final = 200
_MOST_MANIFEST_BYTES: Final = 64 << 20


class Inspected(Struct, frozen=True):
    """One pack of an export: what it proves, or why it does not."""

    name: str
    report: Mapping[str, Any] | None
    reason: str | None


def actions_between(client: ApiClient, start: str | None, end: str | None) -> list[str]:
    """Identifiers of the actions that were submitted in this range of time, the newest first."""
    found: list[str] = []
    cursor: str | None = None
    while True:
        page = client.send(
            operations.list_audit_events,
            event_type="action.submitted",
            start_date=start,
            end_date=end,
            limit=_PAGE,
            cursor=cursor,
        )
        found += [str(one["action_id"]) for one in page["data"]]
        cursor = page["pagination"]["next_cursor"]
        if cursor is None:
            return list(dict.fromkeys(found))


def fetch_packs(client: ApiClient, action_ids: Sequence[str], progress: Progress) -> Iterator[tuple[str, bytes]]:
    """Raises UnavailableError, which names the action whose pack there is not."""
    for action_id in action_ids:
        progress(1)
        try:
            content = client.send(operations.get_audit_action_proof_pack, action_id)
        except HeadgateError as error:
            message = f"no proof pack of {action_id}, so the export is incomplete: {error.message}"
            raise UnavailableError(message) from error
        yield f"{action_id}.zip", content


def write_folder(packs: Iterator[tuple[str, bytes]], folder: Path, about: Mapping[str, str | None]) -> int:
    """A file each, and the manifest last; returns how many. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    entries: list[dict[str, str]] = []
    for name, content in packs:
        replace_file(folder / name, content, mode=0o644)
        entries.append(_entry(name, content))
    replace_file(folder / _MANIFEST, _manifest(entries, about), mode=0o644)
    return len(entries)


def write_bundle(packs: Iterator[tuple[str, bytes]], path: Path, about: Mapping[str, str | None]) -> int:
    """One ZIP of them; packs are compressed already. Raises OSError."""
    entries: list[dict[str, str]] = []
    draft = path.with_name(f".{path.name}.part")
    with zipfile.ZipFile(draft, "w", zipfile.ZIP_STORED) as archive:
        for name, content in packs:
            archive.writestr(zipfile.ZipInfo(name), content)
            entries.append(_entry(name, content))
        archive.writestr(zipfile.ZipInfo(_MANIFEST), _manifest(entries, about))
    draft.replace(path)
    return len(entries)


def inspect(path: Path, keys: Sequence[Key]) -> Iterator[Inspected]:
    """Every pack that the manifest names, verified; then those that it does not name. Nothing is stored anywhere.

    Raises ValidationError where this is no export.
    """
    for name, content, reason in read_all(open_export(path)):
        yield Inspected(name, None, reason) if content is None else _inspected(name, content, keys)


def open_export(path: Path) -> "_Folder | _Bundle":
    """Raises ValidationError where this is no export."""
    return _Folder(path) if path.is_dir() else _Bundle(path)


def read_all(packs: "_Folder | _Bundle") -> Iterator[tuple[str, bytes | None, str | None]]:
    """Every pack that the manifest names, and those that it does not: name, and content or why there is none."""
    manifest = packs.manifest()
    named = {str(one["file"]): str(one["sha256"]) for one in manifest["packs"]}
    for name in sorted({*named, *packs.names()}):
        content, reason = _read(packs, name, named.get(name))
        yield name, content, reason


def _read(packs: "_Folder | _Bundle", name: str, expected: str | None) -> tuple[bytes | None, str | None]:
    try:
        content = packs.read(name)
    except (OSError, KeyError, zipfile.BadZipFile):
        return None, "the manifest names it, but it is missing"
    if expected is None:
        return None, "the manifest does not name it"
    if _digest(content) != expected:
        return None, "it differs from the pack that the manifest names"
    return content, None


def _inspected(name: str, content: bytes, keys: Sequence[Key]) -> Inspected:
    try:
        return Inspected(name, verify_pack(content, keys), None)
    except (InvalidError, RefusedError) as error:
        return Inspected(name, None, str(error))


class _Folder:
    def __init__(self, path: Path) -> None:
        self._path = path

    def names(self) -> list[str]:
        return [one.name for one in self._path.glob("*.zip")]

    def read(self, name: str) -> bytes:
        if Path(name).name != name:
            raise KeyError(name)
        with (self._path / name).open("rb") as file:
            return file.read(MAX_PACK_BYTES + 1)

    def manifest(self) -> dict[str, Any]:
        try:
            return _read_manifest((self._path / _MANIFEST).read_bytes())
        except OSError as error:
            raise ValidationError(f"{self._path} has no {_MANIFEST}: it is not an export of proof packs") from error


class _Bundle:
    def __init__(self, path: Path) -> None:
        try:
            self._archive = zipfile.ZipFile(io.BytesIO(path.read_bytes()))
        except (OSError, zipfile.BadZipFile) as error:
            raise ValidationError(f"{path} is not a bundle of proof packs") from error

    def names(self) -> list[str]:
        return [one for one in self._archive.namelist() if one != _MANIFEST]

    def read(self, name: str) -> bytes:
        with self._archive.open(name) as member:
            return member.read(MAX_PACK_BYTES + 1)

    def manifest(self) -> dict[str, Any]:
        try:
            with self._archive.open(_MANIFEST) as member:
                return _read_manifest(member.read(_MOST_MANIFEST_BYTES))
        except KeyError as error:
            raise ValidationError(f"it has no {_MANIFEST}: it is not a bundle of proof packs") from error


def _read_manifest(content: bytes) -> dict[str, Any]:
    try:
        document = json.loads(content)
        if document["format"] != FORMAT or not all({"file", "sha256"} <= set(one) for one in document["packs"]):
            raise ValueError("another format")
    except (ValueError, KeyError, TypeError) as error:
        raise ValidationError(f"the {_MANIFEST} is not one of proof packs: {error}") from error
    checked: dict[str, Any] = document
    return checked


def _manifest(entries: list[dict[str, str]], about: Mapping[str, str | None]) -> bytes:
    document = {"format": FORMAT, **about, "packs": sorted(entries, key=lambda one: one["file"])}
    return (json.dumps(document, indent=1, sort_keys=True) + "\n").encode()


def _entry(name: str, content: bytes) -> dict[str, str]:
    return {"file": name, "sha256": _digest(content)}


def _digest(content: bytes) -> str:
    return "sha256:" + hashlib.sha256(content).hexdigest()
