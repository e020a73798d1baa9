"""Parses GitHub's webhooks: a deployment that waits for its protection rule, a pull request or a merge group that needs
its check.

https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries (``X-Hub-Signature-256``) and
…/webhook-events-and-payloads (``deployment_protection_rule``, ``pull_request``, ``merge_group``). GitHub signs no
sending time. The age is therefore that of the last update of the deployment or pull request.
"""

import hashlib
from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from headgate.integrations.github.settings import GitHubSettings
from headgate.integrations.model import Opened
from headgate.integrations.platform_api import text_at
from headgate.integrations.signatures import digest_of, require_fresh, require_mac
from headgate.kernel.canonical_json import JsonObject, JsonValue, canonical_bytes, parse_strict
from headgate.kernel.errors import UnauthorizedError, ValidationError
from headgate.kernel.secrets import Secret

MAX_AGE: Final = timedelta(days=3)
"""GitHub allows manual redelivery for this long."""
_BRANCHES: Final = "refs/heads/"
_PULL_ACTIONS: Final = frozenset({"opened", "reopened", "synchronize", "ready_for_review", "edited"})


class PointKind(StrEnum):
    """The kinds of approval points; each is the operation of its action."""

    DEPLOYMENT = "deployment"
    PULL_REQUEST = "pull_request"
    MERGE_GROUP = "merge_group"
    """What a merge queue would merge: a commit of its own, at which the required checks are asked for again."""


class ApprovalPoint(Struct, frozen=True):
    """An item that waits for a decision. ``params`` and ``context``: what policies and approvers see.

    ``digest``: SHA-256 of these and of the item that the answer is about. Another base, sender or run makes another
    point with a decision of its own."""

    receipt_id: str
    kind: PointKind
    opened: Opened
    params: JsonObject
    context: JsonObject
    sender: str
    digest: bytes


def point_of(
    headers: Mapping[str, str], body: bytes, secret: Secret, settings: GitHubSettings, now: datetime
) -> ApprovalPoint | None:
    """None: the settings do not cover this event. Raises UnauthorizedError, ValidationError."""
    given = headers.get("x-hub-signature-256", "")
    require_mac(secret, body, given.removeprefix("sha256=") if given.startswith("sha256=") else None, "GitHub")
    payload = parse_strict(body)
    if not isinstance(payload, dict):
        raise ValidationError("not one of GitHub's webhooks: its content type must be application/json")
    repository, installation = text_at(payload, "repository", "full_name"), _number(payload, "installation", "id")
    event = headers.get("x-github-event")
    if repository is None or installation is None or not _fits(repository, settings.repositories):
        return None
    if event == "deployment_protection_rule" and payload.get("action") == "requested":
        point = _deployment(payload, repository, installation, settings, digest_of(body))
        touched = text_at(payload, "deployment", "updated_at")
    elif event == "pull_request" and payload.get("action") in _PULL_ACTIONS and not _is_text_edit(payload):
        point = _pull_request(payload, repository, installation, settings, digest_of(body))
        touched = text_at(payload, "pull_request", "updated_at")
    elif event == "merge_group" and payload.get("action") == "checks_requested":
        # Its commit may be as old as its author's. A repeated webhook asks about a commit that no queue waits for.
        return _merge_group(payload, repository, installation, settings, digest_of(body))
    else:
        return None
    if point is not None:
        require_fresh(_seconds(touched), now, MAX_AGE, "GitHub")
    return point


def _deployment(
    payload: JsonObject, repository: str, installation: int, settings: GitHubSettings, receipt_id: str
) -> ApprovalPoint | None:
    environment, callback = text_at(payload, "environment"), text_at(payload, "deployment_callback_url")
    deployment = _number(payload, "deployment", "id")
    if not settings.protect_deployments or environment is None or not _fits(environment, settings.environments):
        return None
    if callback is None or deployment is None:
        raise ValidationError("a deployment without its callback")
    run = _run_of(callback, repository, settings.base_url)
    detail: JsonObject = {
        "kind": PointKind.DEPLOYMENT.value,
        "repository": repository,
        "installation": installation,
        "environment": environment,
        "run": run,
    }
    params: JsonObject = {
        "repository": repository,
        "environment": environment,
        "ref": text_at(payload, "deployment", "ref"),
        "sha": text_at(payload, "deployment", "sha"),
        "task": text_at(payload, "deployment", "task"),
        "event": text_at(payload, "event"),
        "run_id": run,
        "creator": text_at(payload, "deployment", "creator", "login"),
    }
    opened = Opened(
        f"deployment:{repository}:{deployment}",
        f"{repository} → {environment}",
        None,
        detail,
        f"rule:{repository}:{run}:{environment}",
    )
    return _point(receipt_id, PointKind.DEPLOYMENT, opened, params, _sender(payload))


def _pull_request(
    payload: JsonObject, repository: str, installation: int, settings: GitHubSettings, receipt_id: str
) -> ApprovalPoint | None:
    number, sha = _number(payload, "pull_request", "number"), text_at(payload, "pull_request", "head", "sha")
    base = text_at(payload, "pull_request", "base", "ref")
    if not settings.check_pull_requests:
        return None
    if number is None or sha is None or base is None:
        raise ValidationError("a pull request without its number, head or base")
    params: JsonObject = {
        "repository": repository,
        "number": number,
        "author": text_at(payload, "pull_request", "user", "login"),
        "base": base,
        "head": text_at(payload, "pull_request", "head", "ref"),
        "head_repository": text_at(payload, "pull_request", "head", "repo", "full_name"),
        "sha": sha,
    }
    detail = _check_at(PointKind.PULL_REQUEST, repository, installation, settings, sha, base)
    opened = Opened(
        f"check:{repository}:{number}",
        f"{repository}#{number}",
        text_at(payload, "pull_request", "html_url"),
        detail,
        _report_key(detail),
    )
    return _point(receipt_id, PointKind.PULL_REQUEST, opened, params, _sender(payload))


def _merge_group(
    payload: JsonObject, repository: str, installation: int, settings: GitHubSettings, receipt_id: str
) -> ApprovalPoint | None:
    sha, head = text_at(payload, "merge_group", "head_sha"), text_at(payload, "merge_group", "head_ref")
    base_ref = text_at(payload, "merge_group", "base_ref")
    if not settings.check_pull_requests:
        return None
    if sha is None or head is None or base_ref is None or not base_ref.startswith(_BRANCHES):
        raise ValidationError("a merge group without its head or its base branch")
    base = base_ref.removeprefix(_BRANCHES)
    params: JsonObject = {
        "repository": repository,
        "base": base,
        "base_sha": text_at(payload, "merge_group", "base_sha"),
        "head": head.removeprefix(_BRANCHES),
        "sha": sha,
    }
    detail = _check_at(PointKind.MERGE_GROUP, repository, installation, settings, sha, base)
    opened = Opened(f"group:{repository}:{sha}", f"{repository} merge queue", None, detail, _report_key(detail))
    return _point(receipt_id, PointKind.MERGE_GROUP, opened, params, _sender(payload))


def _check_at(
    kind: PointKind, repository: str, installation: int, settings: GitHubSettings, sha: str, base: str
) -> JsonObject:
    return {
        "kind": kind.value,
        "repository": repository,
        "installation": installation,
        "sha": sha,
        "base": base,
        "check_name": settings.check_name.replace("{base}", base),
    }


def _report_key(check: JsonObject) -> str:
    return f"check:{check['repository']}:{check['sha']}:{check['check_name']}"


def _point(receipt_id: str, kind: PointKind, opened: Opened, params: JsonObject, sender: str) -> ApprovalPoint:
    context: JsonObject = {"github": {"sender": sender, "item": opened.external_key}}
    covered: list[JsonValue] = [kind.value, opened.external_id, opened.detail, params, context]
    digest = hashlib.sha256(canonical_bytes(covered)).digest()
    opened = replace(opened, external_id=f"{opened.external_id}:{digest.hex()}")
    return ApprovalPoint(receipt_id, kind, opened, params, context, sender, digest)


def _is_text_edit(payload: JsonObject) -> bool:
    """Whether only the title or description was edited: policies read neither."""
    changes = payload.get("changes")
    return payload.get("action") == "edited" and isinstance(changes, dict) and changes.keys() <= {"title", "body"}


def _run_of(callback: str, repository: str, base_url: str) -> str:
    """Builds the answer's address from this and never from the received address: the answer carries a token."""
    beginning, end = f"{base_url}/repos/{repository}/actions/runs/", "/deployment_protection_rule"
    run = callback.removeprefix(beginning).removesuffix(end)
    if callback != f"{beginning}{run}{end}" or not (run.isascii() and run.isdigit()):
        raise UnauthorizedError("the callback is not an address of this repository at this GitHub")
    return run


def _fits(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name.casefold(), one.casefold()) for one in patterns)


def _number(document: JsonValue, *path: str) -> int | None:
    found = document
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def _seconds(instant: str | None) -> float | None:
    try:
        return None if instant is None else datetime.fromisoformat(instant).timestamp()
    except ValueError:
        return None


def _sender(payload: JsonObject) -> str:
    return text_at(payload, "sender", "login") or "unknown"
