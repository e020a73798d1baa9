"""Bodies about data documents and shared modules."""

from datetime import datetime
from typing import Annotated

from pydantic import ConfigDict, Field

from admin_api.json_values import WholeNumber
from admin_api.policies.version_schemas import ActorAnswer
from admin_api.schema import BaseModel
from headgate.policies.documents import DocumentVersion, PolicyDocument
from headgate.policies.draft import NOTE_MAX_CHARACTERS
from headgate.policies.model import REGO_MAX_BYTES
from headgate.policies.versions import VersionChange


class DocumentAnswer(BaseModel):
    """A document or module without its content. A data document at limits.hard is data.limits.hard."""

    path: str
    version: int
    size_bytes: int
    created_at: datetime
    updated_at: datetime


class ModuleAnswer(DocumentAnswer):
    package: str
    content: str


class NewModule(BaseModel):
    """PUT /admin/policies/modules/{path}."""

    model_config = ConfigDict(extra="forbid")

    content: str = Field(
        min_length=1,
        max_length=REGO_MAX_BYTES,
        description="Rego, of the package lib.{path}.",
        examples=["package lib.time.windows\n\nopen := true\n"],
    )
    change_note: str | None = Field(default=None, max_length=NOTE_MAX_CHARACTERS)
    version: Annotated[WholeNumber, Field(ge=0)] | None = Field(
        default=None, description="409 if it is not the newest. 0: the document must be new."
    )


class DocumentVersionAnswer(BaseModel):
    version: int
    change: VersionChange
    changed_at: datetime
    changed_by: ActorAnswer | None
    change_note: str | None
    size_bytes: int


class DocumentRestoration(BaseModel):
    model_config = ConfigDict(extra="forbid")

    version: WholeNumber = Field(ge=1, description="The version whose content becomes the newest version.")
    change_note: str | None = Field(default=None, max_length=NOTE_MAX_CHARACTERS)


def document_answer(document: PolicyDocument) -> DocumentAnswer:
    return DocumentAnswer(
        path=document.path,
        version=document.version,
        size_bytes=len(document.content.encode()),
        created_at=document.created_at,
        updated_at=document.updated_at,
    )


def module_answer(document: PolicyDocument) -> ModuleAnswer:
    return ModuleAnswer(**dict(document_answer(document)), package=f"lib.{document.path}", content=document.content)


def document_version_answer(version: DocumentVersion) -> DocumentVersionAnswer:
    actor = version.actor
    return DocumentVersionAnswer(
        version=version.document.version,
        change=version.change,
        changed_at=version.document.updated_at,
        changed_by=None if actor is None else ActorAnswer(type=actor.type, id=actor.id, name=actor.name),
        change_note=version.note,
        size_bytes=len(version.document.content.encode()),
    )
