"""An organization's policies, documents and modules by way of the API: read as a whole, changed as a
whole, or step by step."""

from collections.abc import Iterator, Sequence

from headgate.cli.api_client import ApiClient, Document
from headgate.kernel.canonical_json import JsonObject
from headgate.policies.suites.plan import Kind, Remote, Step, Verb

_PAGE = 200


def read_remote(client: ApiClient) -> Remote:
    """Everything that can be in a folder."""
    documents = {
        one["path"]: client.get_any(f"/admin/policies/data/{one['path']}")
        for one in _all(client, "/admin/policies/data")
    }
    modules = {
        one["path"]: client.get(f"/admin/policies/modules/{one['path']}")["content"]
        for one in _all(client, "/admin/policies/modules")
    }
    return Remote(list(_all(client, "/admin/policies")), documents, modules)


def _all(client: ApiClient, path: str) -> Iterator[Document]:
    offset = 0
    while True:
        page = client.get(path, {"limit": _PAGE, "offset": offset})["data"]
        yield from page
        offset += len(page)
        if len(page) < _PAGE:
            return


def apply_all(client: ApiClient, steps: Sequence[Step], note: str | None, *, dry_run: bool) -> list[list[str]]:
    """Make all changes or none; the warnings of each. Raises what the API refuses."""
    body = {"changes": [_change(one) for one in steps], "change_note": note, "dry_run": dry_run}
    answer = client.post_long("/admin/policies/changes", body)
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
    said = {} if note is None else {"change_note": note}
    path = {
        Kind.POLICY: f"/admin/policies/{step.policy_id}",
        Kind.DATA: f"/admin/policies/data/{step.name}",
        Kind.MODULE: f"/admin/policies/modules/{step.name}",
    }[step.kind]
    if step.verb is Verb.DELETE:
        compared = step.body if isinstance(step.body, dict) else {}
        client.delete(path, {**said, **{name: str(value) for name, value in compared.items()}})
        return []
    if step.kind is Kind.DATA:
        client.put(path, step.body, said)
        return []
    if step.kind is Kind.MODULE:
        client.put(path, {"content": step.body, **said})
        return []
    body = dict(step.body) if isinstance(step.body, dict) else {}
    if step.verb is Verb.CREATE:
        answer = client.post("/admin/policies", {**body, **said})
    else:
        answer = client.patch(path, {**body, **said})
    return [str(warning) for warning in answer.get("warnings", [])]
