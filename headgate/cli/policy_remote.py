"""An organization's policies, documents and modules by way of the API: read as a whole, changed step by step."""

from collections.abc import Iterator

from headgate.cli.api_client import ApiClient, Document
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


def apply_step(client: ApiClient, step: Step, note: str | None) -> list[str]:
    """Make one change; its warnings. Raises what the API refuses."""
    said = {} if note is None else {"change_note": note}
    path = {
        Kind.POLICY: f"/admin/policies/{step.policy_id}",
        Kind.DATA: f"/admin/policies/data/{step.name}",
        Kind.MODULE: f"/admin/policies/modules/{step.name}",
    }[step.kind]
    if step.verb is Verb.DELETE:
        client.delete(path, said)
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
