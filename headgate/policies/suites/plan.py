"""Computes the changes that make an organization match a folder. Pure.

Policies match by name; documents and modules match by path.
"""

from collections.abc import Mapping, Sequence
from difflib import unified_diff
from enum import StrEnum
from typing import Final

from msgspec import Struct

from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.kernel.errors import ValidationError
from headgate.policies.suites.bundle import shown_json
from headgate.policies.suites.model import Suite, SuitePolicy

_FIELDS: Final = ("description", "priority", "enabled", "mode", "rego_policy")


class Verb(StrEnum):
    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"


class Kind(StrEnum):
    MODULE = "module"
    DATA = "data"
    POLICY = "policy"


class Step(Struct, frozen=True):
    """One change. ``name``: the policy's name, or the path. ``policy_id`` where there is one already.

    ``body`` is what is sent: the fields of a policy that differ, with the version that was compared, the document, or
    the module's text.
    """

    verb: Verb
    kind: Kind
    name: str
    body: JsonValue
    diff: str
    policy_id: str | None = None


class Remote(Struct, frozen=True):
    """The organization's state: policies as the API returns them, documents and modules by path."""

    policies: Sequence[JsonObject]
    documents: Mapping[str, JsonValue]
    modules: Mapping[str, str]


def plan(local: Suite, remote: Remote, *, delete: bool) -> list[Step]:
    """The changes that make ``remote`` equal ``local``, ordered by dependency; without ``delete``, nothing is deleted.

    Raises ValidationError if names are not unique.
    """
    policies = _by_name(local, remote)
    modules = {_module_path(file): text for file, text in local.modules}
    changed = [
        *_texts(Kind.MODULE, modules, remote.modules, ".rego"),
        *_texts(Kind.DATA, local.documents, remote.documents, ".json"),
        *(step for one in local.policies if (step := _policy(one, policies.get(one.name))) is not None),
    ]
    return [*changed, *gone(local, remote)] if delete else changed


def gone(local: Suite, remote: Remote) -> list[Step]:
    """The deletions of what ``remote`` has and ``local`` lacks. Raises ValidationError if names are not unique."""
    modules = {_module_path(file): text for file, text in local.modules}
    kept = {one.name for one in local.policies}
    policies = [
        Step(
            Verb.DELETE,
            Kind.POLICY,
            name,
            {"version": found["version"]},  # The same rule as for updates.
            _diff(str(found["rego_policy"]), "", name),
            str(found["id"]),
        )
        for name, found in _by_name(local, remote).items()
        if name not in kept
    ]
    return [
        *policies,
        *_gone(Kind.DATA, local.documents, remote.documents, ".json"),
        *_gone(Kind.MODULE, modules, remote.modules, ".rego"),
    ]


def _by_name(local: Suite, remote: Remote) -> dict[str, JsonObject]:
    found: dict[str, JsonObject] = {}
    for one in remote.policies:
        name = str(one["name"])
        if name in found:
            raise ValidationError(
                f"the organization has two policies called {name!r} ({found[name]['id']}, {one['id']}): rename one"
            )
        found[name] = one
    names = [one.name for one in local.policies]
    for name in names:
        if names.count(name) > 1:
            raise ValidationError(f"two policies of the folder are called {name!r}")
    return found


def _policy(local: SuitePolicy, remote: JsonObject | None) -> Step | None:
    wanted: JsonObject = {
        "description": local.description,
        "priority": local.priority,
        "enabled": local.enabled,
        "mode": local.mode.value,
        "rego_policy": local.text,
    }
    if remote is None:
        body: JsonObject = {"name": local.name, **wanted}
        return Step(Verb.CREATE, Kind.POLICY, local.name, body, _diff("", local.text, local.file))
    changes: JsonObject = {name: wanted[name] for name in _FIELDS if wanted[name] != remote[name]}
    if not changes:
        return None
    fields = "".join(f"{name}: {remote[name]} -> {changes[name]}\n" for name in changes if name != "rego_policy")
    text = _diff(str(remote["rego_policy"]), local.text, local.file)
    # The compared version: a concurrent change is not overwritten unseen.
    body = {**changes, "version": remote["version"]}
    return Step(Verb.UPDATE, Kind.POLICY, local.name, body, fields + text, str(remote["id"]))


def _texts(kind: Kind, local: Mapping[str, JsonValue], remote: Mapping[str, JsonValue], ending: str) -> list[Step]:
    return [
        Step(
            Verb.UPDATE if path in remote else Verb.CREATE,
            kind,
            path,
            value,
            _diff(_shown(remote[path]) if path in remote else "", _shown(value), path + ending),
        )
        for path, value in sorted(local.items())
        if path not in remote or remote[path] != value
    ]


def _gone(kind: Kind, local: Mapping[str, JsonValue], remote: Mapping[str, JsonValue], ending: str) -> list[Step]:
    return [
        Step(Verb.DELETE, kind, path, None, _diff(_shown(remote[path]), "", path + ending))
        for path in sorted(remote)
        if path not in local
    ]


def _shown(value: JsonValue) -> str:
    return value if isinstance(value, str) and "\n" in value else shown_json(value)


def _module_path(file: str) -> str:
    return file.removeprefix("lib/").removesuffix(".rego").replace("/", ".")


def _diff(before: str, after: str, name: str) -> str:
    lines = unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), f"now/{name}", f"folder/{name}"
    )
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
