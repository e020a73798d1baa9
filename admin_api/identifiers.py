"""Names of resources in paths, queries and bodies: described with their pattern, and read in their full form.

A path whose identifier is malformed names nothing, so it answers 404 as an unknown one does
(``admin_api.errors.answer_validation_error``); elsewhere it is 400.
"""

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated

from msgspec import Struct
from pydantic import AfterValidator, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from admin_api.text import StorableText
from headgate.approvals.groups import parse_group_name
from headgate.journal.set_aside import ENTRY_ID, parse_entry_id
from headgate.kernel.call_name import NAME_LENGTH_MAX, NAME_RULE, fits
from headgate.kernel.errors import ValidationError
from headgate.kernel.ids import IdPrefix, full_id, id_pattern, parse_id
from headgate.policies.documents import DATA_PATH, MODULE_PATH, parse_data_path, parse_module_path
from headgate.policies.terms import GROUP_NAME


class Named(Struct, frozen=True):
    """The pydantic type of texts that ``read`` understands; it raises ValidationError for others."""

    read: Callable[[str], str]
    pattern: str
    example: str

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._checked, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, object]:
        return {**handler(schema), "pattern": self.pattern, "examples": [self.example]}

    def _checked(self, text: str) -> str:
        try:
            return self.read(text)
        except ValidationError as error:
            raise PydanticCustomError("name", "{reason}", {"reason": error.message}) from error


def identifier(prefix: IdPrefix, *others: IdPrefix) -> Named:
    """Of any of these kinds. The bare UUID is read as well (``parse_id``), as the first one's."""
    pattern = id_pattern(prefix).replace(f"({prefix}_)", f"({'|'.join(f'{one}_' for one in (prefix, *others))})")
    return Named(partial(_id_of, (prefix, *others)), pattern, f"{prefix}_01938a5e-7c00-7000-8000-000000000001")


def _id_of(prefixes: Sequence[IdPrefix], text: str) -> str:
    return parse_id(next((one for one in prefixes if text.startswith(f"{one}_")), prefixes[0]), text)


def _entry_id(text: str) -> str:
    parse_entry_id(text)
    return text


def _call_name(text: str) -> str:
    if fits(text):
        return text
    raise ValidationError(f"no tool or operation is called {json.dumps(text[:NAME_LENGTH_MAX])}: {NAME_RULE}")


AbsenceId = Annotated[str, identifier(IdPrefix.ABSENCE)]
ActionId = Annotated[str, identifier(IdPrefix.ACTION)]
AgentId = Annotated[str, identifier(IdPrefix.AGENT)]
ApprovalId = Annotated[str, identifier(IdPrefix.APPROVAL)]
BreakGlassId = Annotated[str, identifier(IdPrefix.BREAK_GLASS)]
ConnectionId = Annotated[str, identifier(IdPrefix.CONNECTION)]
DeliveryId = Annotated[str, identifier(IdPrefix.DELIVERY)]
EventId = Annotated[str, identifier(IdPrefix.EVENT)]
ExchangeId = Annotated[str, identifier(IdPrefix.EXCHANGE)]
ExecutionId = Annotated[str, identifier(IdPrefix.EXECUTION)]
GrantId = Annotated[str, identifier(IdPrefix.GRANT)]
InvitationId = Annotated[str, identifier(IdPrefix.INVITATION)]
CanaryId = Annotated[str, identifier(IdPrefix.CANARY)]
McpToolId = Annotated[str, identifier(IdPrefix.MCP_TOOL)]
PasskeyId = Annotated[str, identifier(IdPrefix.PASSKEY)]
KeyId = Annotated[str, identifier(IdPrefix.KEY)]
LegalHoldId = Annotated[str, identifier(IdPrefix.LEGAL_HOLD)]
NlpPolicyId = Annotated[str, identifier(IdPrefix.NLP_POLICY)]
OrganizationId = Annotated[str, identifier(IdPrefix.ORGANIZATION)]
PolicyId = Annotated[str, identifier(IdPrefix.POLICY)]
HoldingPolicyId = Annotated[str, identifier(IdPrefix.POLICY, IdPrefix.NLP_POLICY)]
"""Of the policy that asked for an approval."""
ReplayId = Annotated[str, identifier(IdPrefix.REPLAY)]
ReportId = Annotated[str, identifier(IdPrefix.REPORT)]
SessionId = Annotated[str, identifier(IdPrefix.SESSION)]
DeliverySubjectId = Annotated[str, identifier(IdPrefix.APPROVAL, IdPrefix.ACTION, IdPrefix.INVITATION)]
"""What a message is about."""
UserId = Annotated[str, identifier(IdPrefix.USER)]
WebhookId = Annotated[str, identifier(IdPrefix.WEBHOOK)]
JournalEntryId = Annotated[str, Named(_entry_id, f"^{ENTRY_ID.pattern}$", "4711-0")]
CallName = Annotated[str, Named(_call_name, f"^[a-z][a-z0-9_]{{0,{NAME_LENGTH_MAX - 1}}}$", "create_issue")]
"""Of a tool or of an operation."""
PersonName = Annotated[StorableText, AfterValidator(partial(full_id, IdPrefix.USER))]
"""A user's id, or another name of people, such as an e-mail address, which its reader checks."""
GroupName = Annotated[str, Named(parse_group_name, f"^{GROUP_NAME.pattern}$", "release-managers")]
DataPath = Annotated[str, Named(parse_data_path, DATA_PATH, "limits.hard")]
ModulePath = Annotated[str, Named(parse_module_path, MODULE_PATH, "time.windows")]
