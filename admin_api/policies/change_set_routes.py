"""/admin/policies/changes: many changes of policies, data documents and modules as one, or not at all."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter
from pydantic import ConfigDict, Field, StrictBool

from admin_api.change import change_by
from admin_api.dependencies import CurrentDependencies, CurrentPrincipal
from admin_api.guarded_route import GuardedRoute
from admin_api.identifiers import DataPath, ModulePath, PolicyId
from admin_api.json_values import WholeNumber
from admin_api.policies.saving import changing
from admin_api.policies.schemas import NewPolicy, PolicyChange
from admin_api.schema import BaseModel
from headgate.kernel.errors import ValidationError
from headgate.policies.change_set import (
    CHANGES_MAX,
    PolicyCreation,
    PolicyDeletion,
    PolicyUpdate,
    RuleChange,
    apply_changes,
)
from headgate.policies.document_service import DocumentChange, data_content
from headgate.policies.documents import DocumentKind
from headgate.policies.draft import NOTE_MAX_CHARACTERS
from headgate.policies.versions import ExpectedVersion

router = APIRouter(route_class=GuardedRoute, tags=["policies"])


class _Change(BaseModel):
    model_config = ConfigDict(extra="forbid")


def _refuse_cases(policy: NewPolicy | PolicyChange) -> None:
    """Changes of many policies run no test cases, so they save none (decision 0087). Raises ValidationError."""
    if "cases" in policy.model_fields_set:
        raise ValidationError(
            "cases: changes of many policies at once run no test cases. Save them with PUT or PATCH of the policy.",
            details={"field": "cases", "reason": "not in a change set"},
        )


class CreatePolicy(_Change):
    change: Literal["create_policy"]
    policy: NewPolicy

    def parsed(self, note: str | None) -> RuleChange:
        del note
        _refuse_cases(self.policy)
        return PolicyCreation(self.policy.draft())


class UpdatePolicy(_Change):
    change: Literal["update_policy"]
    policy_id: PolicyId
    policy: PolicyChange

    def parsed(self, note: str | None) -> RuleChange:
        del note
        _refuse_cases(self.policy)
        expected = _expected(self.policy.version)
        return PolicyUpdate(self.policy_id, changing(self.policy.changes()), expected)


class DeletePolicy(_Change):
    change: Literal["delete_policy"]
    policy_id: PolicyId
    version: Annotated[WholeNumber, Field(ge=1)] | None = Field(default=None)

    def parsed(self, note: str | None) -> RuleChange:
        del note
        return PolicyDeletion(self.policy_id, _expected(self.version))


class PutData(_Change):
    change: Literal["put_data"]
    path: DataPath
    document: Any

    def parsed(self, note: str | None) -> RuleChange:
        return DocumentChange(DocumentKind.DATA, self.path, data_content(self.document), note)


class DeleteData(_Change):
    change: Literal["delete_data"]
    path: DataPath

    def parsed(self, note: str | None) -> RuleChange:
        return DocumentChange(DocumentKind.DATA, self.path, None, note)


class PutModule(_Change):
    change: Literal["put_module"]
    path: ModulePath
    content: str = Field(min_length=1)

    def parsed(self, note: str | None) -> RuleChange:
        return DocumentChange(DocumentKind.MODULE, self.path, self.content, note)


class DeleteModule(_Change):
    change: Literal["delete_module"]
    path: ModulePath

    def parsed(self, note: str | None) -> RuleChange:
        return DocumentChange(DocumentKind.MODULE, self.path, None, note)


type AnyChange = Annotated[
    CreatePolicy | UpdatePolicy | DeletePolicy | PutData | DeleteData | PutModule | DeleteModule,
    Field(discriminator="change"),
]


class ChangesBody(BaseModel):
    """POST /admin/policies/changes. The note applies to every version; a note of a single policy is ignored."""

    model_config = ConfigDict(extra="forbid")

    changes: list[AnyChange] = Field(max_length=CHANGES_MAX)
    change_note: str | None = Field(default=None, max_length=NOTE_MAX_CHARACTERS)
    dry_run: StrictBool = Field(default=False, description="Check and store the change set, then roll it back.")


class AppliedAnswer(BaseModel):
    """``policy_id``: null for documents and modules; of a policy that a dry run created, one that nobody has."""

    change: str
    policy_id: PolicyId | None
    version: int
    warnings: list[str]


class ChangesAnswer(BaseModel):
    changes: list[AppliedAnswer] = Field(description="In the order of the request.")
    dry_run: bool


def _expected(version: int | None) -> ExpectedVersion | None:
    return None if version is None else ExpectedVersion(version)


@router.post("/admin/policies/changes")
async def change_all(
    body: ChangesBody, principal: CurrentPrincipal, dependencies: CurrentDependencies
) -> ChangesAnswer:
    """Applies all changes in one transaction. They apply together to the next decision; one refused change refuses all.
    They are checked in their final state, regardless of their order."""
    applied = await apply_changes(
        dependencies.database,
        change_by(principal, dependencies),
        [one.parsed(body.change_note) for one in body.changes],
        body.change_note,
        rehearse=body.dry_run,
    )
    return ChangesAnswer(
        changes=[
            AppliedAnswer(
                change=asked.change, policy_id=one.policy_id, version=one.version, warnings=list(one.warnings)
            )
            for asked, one in zip(body.changes, applied, strict=True)
        ],
        dry_run=body.dry_run,
    )
