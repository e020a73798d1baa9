"""Policies as files: what lies where in a folder, read with limits and without leaving it.

::

    policies.yaml      the manifest: name, description, priority, enabled and mode of each file (optional)
    NAME.rego          a policy; NAME_test.rego holds rules test_… about it, NAME.cases.yaml its cases
    lib/**/*.rego      shared modules (package lib.…)
    data/**/*.json     data documents: data/limits/hard.json is data.limits.hard
    cases/*.yaml       cases of all policies of the manifest together

Without a manifest every policy has the defaults, and the file's name is its name.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct

from headgate.configuration.yaml_document import Section, read_document
from headgate.kernel.canonical_json import JsonValue, parse_strict
from headgate.kernel.errors import ValidationError
from headgate.policies.documents import nested, parse_data_path
from headgate.policies.model import DEFAULT_PRIORITY, POLICIES_MAX, PRIORITY_MAX, REGO_MAX_BYTES, PolicyMode
from headgate.policies.suites.cases import parse_cases
from headgate.policies.suites.model import Case, Suite, SuitePolicy, TestModule

MANIFEST: Final = "policies.yaml"
_FILE_MAX_BYTES: Final = 4 << 20
_FILES_MAX: Final = 5_000
_TEST_SUFFIX: Final = "_test.rego"
_CASES_SUFFIX: Final = ".cases.yaml"


class _Entry(Struct, frozen=True):
    """One policy of the manifest."""

    file: str
    name: str | None
    description: str | None
    priority: int
    enabled: bool
    mode: PolicyMode


def read_folder(folder: Path) -> Suite:
    """Raises ValidationError, which names the file."""
    if not folder.is_dir():
        raise ValidationError(f"{folder}: no such folder")
    files = _files(folder)
    entries = _manifest(folder)
    missing = sorted(entries.keys() - set(files))
    if missing:
        raise ValidationError(f"{folder / MANIFEST}: there is no file {missing[0]}")
    policies = tuple(_policy(folder, file, entries.get(file)) for file in files if _is_policy(file))
    if len(policies) > POLICIES_MAX:
        raise ValidationError(f"{folder}: {len(policies)} policies; an organization has at most {POLICIES_MAX}")
    _check_keys(folder, policies)
    return Suite(
        policies=policies,
        modules=tuple(_modules(folder, files)),
        documents=_documents(folder, files),
        cases=tuple(_cases_together(folder, files)),
    )


def read_policy_file(path: Path) -> Suite:
    """One policy, with the modules and data documents beside it. Raises ValidationError, which names the file."""
    folder = path.parent
    beside = [
        f"{part}/{file}" for part in ("data", "lib") if _is_own_folder(folder / part) for file in _files(folder / part)
    ]
    return Suite(
        policies=(_policy(folder, path.name, None),),
        modules=tuple(_modules(folder, beside)),
        documents=_documents(folder, beside),
    )


def _files(folder: Path) -> list[str]:
    """Relative paths in one order, without links: an untrusted folder's links could point anywhere."""
    found: list[str] = []
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(one for one in folders if not one.startswith(".") and not (Path(root) / one).is_symlink())
        for name in sorted(names):
            path = Path(root) / name
            if name.startswith(".") or path.is_symlink() or not path.is_file():
                continue
            found.append(path.relative_to(folder).as_posix())
            if len(found) > _FILES_MAX:
                raise ValidationError(f"{folder}: more than {_FILES_MAX} files: is that a folder of policies?")
    return found


def _is_own_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _is_policy(file: str) -> bool:
    return file.endswith(".rego") and not file.endswith(_TEST_SUFFIX) and not file.startswith("lib/")


def _text(path: Path, limit: int) -> str:
    try:
        if path.stat().st_size > limit:
            raise ValidationError(f"{path}: over {limit} bytes")
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ValidationError(f"{path}: cannot be read: {error}") from error


def _policy(folder: Path, file: str, entry: _Entry | None) -> SuitePolicy:
    stem = file.removesuffix(".rego")
    key = Path(stem).name
    tests = stem + _TEST_SUFFIX
    cases = stem + _CASES_SUFFIX
    return SuitePolicy(
        key=key,
        file=file,
        text=_text(folder / file, REGO_MAX_BYTES),
        name=key if entry is None or entry.name is None else entry.name,
        description=None if entry is None else entry.description,
        priority=DEFAULT_PRIORITY if entry is None else entry.priority,
        enabled=True if entry is None else entry.enabled,
        mode=PolicyMode.ENFORCE if entry is None else entry.mode,
        listed=entry is not None,
        tests=(TestModule(tests, _text(folder / tests, REGO_MAX_BYTES)),) if (folder / tests).is_file() else (),
        cases=tuple(_read_cases(folder, cases)) if (folder / cases).is_file() else (),
    )


def _check_keys(folder: Path, policies: tuple[SuitePolicy, ...]) -> None:
    seen: dict[str, str] = {}
    for policy in policies:
        if policy.key in seen:
            raise ValidationError(f"{folder}: {seen[policy.key]} and {policy.file} have the same name")
        seen[policy.key] = policy.file


def _read_cases(folder: Path, file: str) -> list[Case]:
    return parse_cases(_text(folder / file, _FILE_MAX_BYTES), file=file)


def _cases_together(folder: Path, files: list[str]) -> Iterator[Case]:
    for file in files:
        if file.startswith("cases/") and file.endswith(".yaml"):
            yield from _read_cases(folder, file)


def _modules(folder: Path, files: list[str]) -> Iterator[tuple[str, str]]:
    for file in files:
        if file.startswith("lib/") and file.endswith(".rego") and not file.endswith(_TEST_SUFFIX):
            yield file, _text(folder / file, REGO_MAX_BYTES)


def _documents(folder: Path, files: list[str]) -> dict[str, JsonValue]:
    """The data documents by their path, ``limits.hard``. Raises ValidationError."""
    documents: dict[str, JsonValue] = {}
    for file in files:
        if file.startswith("data/") and file.endswith(".json"):
            path = parse_data_path(file.removeprefix("data/").removesuffix(".json"))
            try:
                documents[path] = parse_strict(_text(folder / file, _FILE_MAX_BYTES).encode())
            except ValidationError as error:
                raise ValidationError(f"{file}: {error.message}") from error
    nested(documents)  # none inside another
    return documents


def _manifest(folder: Path) -> dict[str, _Entry]:
    if not (folder / MANIFEST).is_file():
        return {}
    document = read_document(folder / MANIFEST)
    document.only("policies")
    entries: dict[str, _Entry] = {}
    for section in document.sections("policies"):
        entry = _entry(section)
        if entry.file in entries:
            raise section.fail("file", f"{entry.file} is there twice")
        entries[entry.file] = entry
    return entries


def _entry(section: Section) -> _Entry:
    section.only("file", "name", "description", "priority", "enabled", "mode")
    priority, enabled = section.members.get("priority", DEFAULT_PRIORITY), section.members.get("enabled", True)
    if not isinstance(priority, int) or isinstance(priority, bool) or not 0 <= priority <= PRIORITY_MAX:
        raise section.fail("priority", f"a whole number from 0 to {PRIORITY_MAX} is required")
    if not isinstance(enabled, bool):
        raise section.fail("enabled", "true or false is required")
    mode = section.text("mode", PolicyMode.ENFORCE.value)
    if mode not in {one.value for one in PolicyMode}:
        raise section.fail("mode", "enforce or shadow is required")
    description = section.members.get("description")
    if description is not None and not isinstance(description, str):
        raise section.fail("description", "a text is required")
    file = section.text("file")
    if Path(file).is_absolute() or ".." in Path(file).parts:
        raise section.fail("file", "a path inside the folder is required")
    name = section.text("name") if "name" in section.members else None
    return _Entry(file, name, description, priority, enabled, PolicyMode(mode))


def manifest_text(policies: list[SuitePolicy]) -> str:
    """The manifest of these policies, in JSON strings, which are valid YAML and unambiguous."""
    lines = ["policies:"]
    for one in policies:
        lines.append(f"  - file: {json.dumps(one.file, ensure_ascii=False)}")
        lines.append(f"    name: {json.dumps(one.name, ensure_ascii=False)}")
        if one.description is not None:
            lines.append(f"    description: {json.dumps(one.description, ensure_ascii=False)}")
        lines += [f"    priority: {one.priority}", f"    enabled: {str(one.enabled).lower()}", f"    mode: {one.mode}"]
    return "\n".join(lines) + ("\n" if policies else " []\n")
