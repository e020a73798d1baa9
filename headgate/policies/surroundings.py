"""The data documents and shared modules that an organization's policies read besides the call."""

from collections.abc import Mapping

from msgspec import Struct, field

from headgate.db.database import Connection
from headgate.organizations.model import SettingName
from headgate.organizations.store import get_setting
from headgate.policies.compile import Libraries
from headgate.policies.data import policy_data
from headgate.policies.document_store import load_documents
from headgate.policies.documents import DocumentKind


class Surroundings(Struct, frozen=True):
    """``data`` is canonical JSON; ``allowlist`` the text of the setting, None where it was never set.

    ``documents`` are the organization's own by their path, and ``libraries`` its modules by the file's name.
    """

    data: bytes
    libraries: Libraries
    allowlist: str | None
    documents: Mapping[str, str] = field(default_factory=dict)


async def load_surroundings(connection: Connection, org_id: str) -> Surroundings:
    """The current state, in the caller's transaction."""
    setting = await get_setting(connection, org_id, SettingName.ALLOWLIST)
    documents = await load_documents(connection, org_id, DocumentKind.DATA)
    modules = await load_documents(connection, org_id, DocumentKind.MODULE)
    return make_surroundings(
        None if setting is None else setting.document,
        {one.path: one.content for one in documents},
        tuple((module_file(one.path), one.content) for one in modules),
    )


def make_surroundings(allowlist: str | None, documents: Mapping[str, str], libraries: Libraries) -> Surroundings:
    """Raises ValidationError where a document would be inside another."""
    return Surroundings(policy_data(allowlist, documents), libraries, allowlist, documents)


def surroundings_with(around: Surroundings, kind: DocumentKind, path: str, content: str | None) -> Surroundings:
    """The same with one document or module changed; ``content`` None: removed. Raises ValidationError."""
    if kind is DocumentKind.DATA:
        documents = {one: text for one, text in around.documents.items() if one != path}
        if content is not None:
            documents[path] = content
        return make_surroundings(around.allowlist, documents, around.libraries)
    libraries = {name: text for name, text in around.libraries if name != module_file(path)}
    if content is not None:
        libraries[module_file(path)] = content
    return make_surroundings(around.allowlist, around.documents, tuple(sorted(libraries.items())))


def module_file(path: str) -> str:
    """The name of a module in the engine's errors: ``lib/time/windows.rego``."""
    return f"lib/{path.replace('.', '/')}.rego"
