"""An organization's policies, documents and modules by way of the API: read as a whole, changed as a
whole, or step by step."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from headgate.cli.api_client import ApiClient
from headgate.client import operations
from headgate.kernel.canonical_json import JsonObject
from headgate.policies.suites.plan import Kind, Remote, Step, Verb

if TYPE_CHECKING:
    from headgate.client.types import ChangesBody, NewModule, NewPolicy, PolicyChange

_PAGE = 200


def read_remote(client: ApiClient) -> Remote:
    """Everything that can be in a folder."""
    documents = {
        one["path"]: json.loads(client.send(operations.get_policies_data, one["path"]))
        for one in _all(partial(client.send, operations.list_policies_data))
    }
    modules = {
        one["path"]: client.send(operations.get_policies_module, one["path"])["content"]
        for one in _all(partial(client.send, operations.list_policies_modules))
    }
    return Remote(list(_all(partial(client.send, operations.list_policies))), documents, modules)


def _all(pages: Callable[..., Mapping[str, Any]]) -> Iterator[Any]:
    offset = 0
    while True:
        page = pages(limit=_PAGE, offset=offset)["data"]
        yield from page
        offset += len(page)
        if len(page) < _PAGE:
            return


def apply_all(client: ApiClient, steps: Sequence[Step], note: str | None, *, dry_run: bool) -> list[list[str]]:
    """Make all changes or none; the warnings of each. Raises what the API refuses."""
    body = {"changes": [_change(one) for one in steps], "change_note": note, "dry_run": dry_run}
    answer = client.send_long(operations.change_policies, cast("ChangesBody", body))
    return [[str(warning) for warning in one["warnings"]] for one in answer["changes"]]


def _change(step: Step) -> JsonObject:
    is_deletion = step.verb is Verb.DELETE
    match step.kind:
        case Kind.DATA:
            return (
                {"change": "delete_data", "path": step.name}
                if is_deletion
                else {"change": "put_data", "path": step.name, "document": step.body}
            )
        case Kind.MODULE:
            return (
                {"change": "delete_module", "path": step.name}
                if is_deletion
                else {"change": "put_module", "path": step.name, "content": step.body}
            )
    if is_deletion:
        compared = step.body if isinstance(step.body, dict) else {}
        return {"change": "delete_policy", "policy_id": step.policy_id, **compared}
    if step.verb is Verb.CREATE:
        return {"change": "create_policy", "policy": step.body}
    return {"change": "update_policy", "policy_id": step.policy_id, "policy": step.body}


def apply_step(client: ApiClient, step: Step, note: str | None) -> list[str]:
    """Make one change; its warnings. Raises what the API refuses."""
    is_deletion = step.verb is Verb.DELETE
    match step.kind:
        case Kind.DATA if is_deletion:
            client.send(operations.delete_policies_data, step.name, change_note=note)
            return []
        case Kind.DATA:
            client.send(operations.put_policies_data, step.name, step.body, change_note=note)
            return []
        case Kind.MODULE if is_deletion:
            client.send(operations.delete_policies_module, step.name, change_note=note)
            return []
    said = {} if note is None else {"change_note": note}
    if step.kind is Kind.MODULE:
        module = cast("NewModule", {"content": step.body, **said})
        client.send(operations.put_policies_module, step.name, module)
        return []
    body = {**(step.body if isinstance(step.body, dict) else {}), **said}
    if is_deletion:
        client.send(operations.delete_policy, str(step.policy_id), **cast("dict[str, Any]", body))
        return []
    if step.verb is Verb.CREATE:
        answer = client.send(operations.create_policy, cast("NewPolicy", body))
    else:
        answer = client.send(operations.update_policy, str(step.policy_id), cast("PolicyChange", body))
    return answer["warnings"]
