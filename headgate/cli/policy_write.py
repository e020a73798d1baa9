"""What an organization has, written into a folder of policies (``headgate.policies.suites.folder``)."""

import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Final

from headgate.kernel.canonical_json import JsonObject
from headgate.policies.model import PolicyMode
from headgate.policies.suites.bundle import shown_json
from headgate.policies.suites.folder import MANIFEST, manifest_text, read_folder
from headgate.policies.suites.model import Suite, SuitePolicy
from headgate.policies.suites.plan import Remote

_NOT_IN_A_NAME: Final = re.compile(r"[^a-z0-9]+")


def write_folder(folder: Path, remote: Remote, *, delete: bool, dry_run: bool) -> Iterator[tuple[str, str]]:
    """Makes the folder what ``remote`` is; what was (or would be) done, and to which file. Tests, cases and everything
    else stay. Raises ValidationError where the folder cannot be read."""
    before = read_folder(folder) if folder.is_dir() else Suite((), (), {})
    policies = _placed(before, remote)
    wanted = {one.file: one.text for one in policies}
    wanted |= {f"data/{path.replace('.', '/')}.json": shown_json(value) for path, value in remote.documents.items()}
    wanted |= {f"lib/{path.replace('.', '/')}.rego": text for path, text in remote.modules.items()}
    wanted[MANIFEST] = manifest_text(policies)
    for file, text in sorted(wanted.items()):
        path = folder / file
        existing = path.read_text("utf-8") if path.is_file() else None
        if existing == text:
            continue
        if not dry_run:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
        yield ("write" if existing is None else "change"), file
    if delete:
        for file in sorted(_known(before) - wanted.keys()):
            if not dry_run:
                (folder / file).unlink()
            yield "remove", file


def _known(suite: Suite) -> set[str]:
    documents = {f"data/{path.replace('.', '/')}.json" for path in suite.documents}
    return {one.file for one in suite.policies} | {file for file, _ in suite.modules} | documents


def _placed(before: Suite, remote: Remote) -> list[SuitePolicy]:
    """Each policy with its file: the one that it has in the folder already, or one after its name."""
    files = {one.name: one.file for one in before.policies}
    taken: set[str] = set()
    placed: list[SuitePolicy] = []
    for one in sorted(remote.policies, key=lambda policy: str(policy["id"])):
        name = str(one["name"])
        file = files.get(name)
        if file is None or file in taken:
            file = _new_file(name, taken | set(files.values()))
        taken.add(file)
        placed.append(_policy(one, name, file))
    return sorted(placed, key=lambda policy: (policy.priority, policy.file))


def _new_file(name: str, taken: set[str]) -> str:
    """A file that is no other's, and not taken for a module of tests."""
    slug = _NOT_IN_A_NAME.sub("_", name.lower()).strip("_")[:80] or "policy"
    slug = f"{slug}_policy" if slug.endswith("_test") or slug == "lib" else slug
    stems = {Path(file).stem for file in taken}
    candidates = (slug if number == 1 else f"{slug}_{number}" for number in count(1))
    return next(f"{one}.rego" for one in candidates if one not in stems)


def _policy(one: JsonObject, name: str, file: str) -> SuitePolicy:
    description = one["description"]
    return SuitePolicy(
        key=Path(file).stem,
        file=file,
        text=str(one["rego_policy"]),
        name=name,
        description=None if description is None else str(description),
        priority=int(str(one["priority"])),
        enabled=bool(one["enabled"]),
        mode=PolicyMode(str(one["mode"])),
        listed=True,
    )
