"""All SQL of data documents and shared modules. Every function runs inside the caller's transaction."""

from typing import Final

from psycopg import sql
from psycopg.rows import DictRow

from headgate.db.bounded_count import BoundedCount, count_rows
from headgate.db.database import Connection
from headgate.kernel.errors import NotFoundError
from headgate.policies.documents import DocumentKind, DocumentVersion, PolicyDocument
from headgate.policies.version_store import actor_json, actor_of
from headgate.policies.versions import VersionChange

_COLUMNS: Final = "kind, path, version, content, created_at, updated_at"
_NAMES: Final = {DocumentKind.DATA: "data document", DocumentKind.MODULE: "module"}


def not_found(kind: DocumentKind, path: str) -> NotFoundError:
    return NotFoundError(f"there is no {_NAMES[kind]} {path}")


async def load_documents(connection: Connection, org_id: str, kind: DocumentKind) -> list[PolicyDocument]:
    """All of a kind, by path."""
    cursor = await connection.execute(
        f"SELECT {_COLUMNS} FROM policy_documents WHERE org_id = %s AND kind = %s AND deleted_at IS NULL ORDER BY path",  # noqa: S608 - a constant of this file
        [org_id, kind.value],
    )
    return [_document(row) for row in await cursor.fetchall()]


async def get_document(connection: Connection, org_id: str, kind: DocumentKind, path: str) -> PolicyDocument:
    """Raises NotFoundError."""
    cursor = await connection.execute(
        f"SELECT {_COLUMNS} FROM policy_documents"  # noqa: S608 - a constant of this file
        " WHERE org_id = %s AND kind = %s AND path = %s AND deleted_at IS NULL",
        [org_id, kind.value, path],
    )
    row = await cursor.fetchone()
    if row is None:
        raise not_found(kind, path)
    return _document(row)


async def lock_document(
    connection: Connection, org_id: str, kind: DocumentKind, path: str
) -> tuple[PolicyDocument, bool] | None:
    """The current or deleted document, and whether it is deleted; None: it never existed."""
    cursor = await connection.execute(
        f"SELECT {_COLUMNS}, deleted_at FROM policy_documents WHERE org_id = %s AND kind = %s AND path = %s FOR UPDATE",  # noqa: S608 - a constant of this file
        [org_id, kind.value, path],
    )
    row = await cursor.fetchone()
    return None if row is None else (_document(row), row["deleted_at"] is not None)


async def save_document(connection: Connection, org_id: str, version: DocumentVersion) -> None:
    """Makes this version current and stores it as a version."""
    document = version.document
    deleted_at = document.updated_at if version.change is VersionChange.DELETED else None
    await connection.execute(
        "INSERT INTO policy_documents (org_id, kind, path, version, content, created_at, updated_at, deleted_at)"
        " VALUES (%s, %s, %s, %s, %s, %s, %s, %s) ON CONFLICT (org_id, kind, path) DO UPDATE SET"
        " version = excluded.version, content = excluded.content, updated_at = excluded.updated_at,"
        " deleted_at = excluded.deleted_at",
        [
            org_id,
            document.kind.value,
            document.path,
            document.version,
            document.content,
            document.created_at,
            document.updated_at,
            deleted_at,
        ],
    )
    await connection.execute(
        "INSERT INTO policy_document_versions (org_id, kind, path, version, change, content, note, actor, created_at)"
        " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)",
        [
            org_id,
            document.kind.value,
            document.path,
            document.version,
            version.change.value,
            document.content,
            version.note,
            None if version.actor is None else actor_json(version.actor),
            document.updated_at,
        ],
    )


async def list_document_versions(
    connection: Connection,
    org_id: str,
    kind: DocumentKind,
    path: str,
    *,
    limit: int,
    offset: int,
    exact_total: bool = False,
) -> tuple[list[DocumentVersion], BoundedCount]:
    """Newest first, also of a deleted document. Raises NotFoundError if it never existed."""
    source = sql.SQL("policy_document_versions WHERE org_id = %(org)s AND kind = %(kind)s AND path = %(path)s")
    values = {"org": org_id, "kind": kind.value, "path": path}
    counted = await count_rows(connection, source, values, exact=exact_total)
    if counted.total == 0:
        raise not_found(kind, path)
    cursor = await connection.execute(
        _SELECT_VERSION + " ORDER BY version DESC LIMIT %s OFFSET %s", [org_id, kind.value, path, limit, offset]
    )
    return [_version(row) for row in await cursor.fetchall()], counted


async def get_document_version(
    connection: Connection, org_id: str, kind: DocumentKind, path: str, version: int
) -> DocumentVersion:
    """Raises NotFoundError."""
    cursor = await connection.execute(_SELECT_VERSION + " AND version = %s", [org_id, kind.value, path, version])
    row = await cursor.fetchone()
    if row is None:
        raise NotFoundError(f"the {_NAMES[kind]} {path} has no version {version}")
    return _version(row)


_SELECT_VERSION: Final = (
    "SELECT kind, path, version, change, content, note, actor, created_at AS updated_at,"
    " created_at FROM policy_document_versions WHERE org_id = %s AND kind = %s AND path = %s"
)


def _document(row: DictRow) -> PolicyDocument:
    return PolicyDocument(
        DocumentKind(row["kind"]), row["path"], row["version"], row["content"], row["created_at"], row["updated_at"]
    )


def _version(row: DictRow) -> DocumentVersion:
    return DocumentVersion(_document(row), VersionChange(row["change"]), row["note"], actor_of(row["actor"]))
