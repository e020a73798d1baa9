"""PUT /admin/settings/github-actions: which workflows may act as which agents."""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import ClassVar, Final

from msgspec import Struct

from headgate.integrations.members import Kind, checked_object, flag, member, text, url
from headgate.kernel.canonical_json import JsonObject, JsonValue

_TEXT: Final = text(300)
_AGENT: Final = text(40, "agt_[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_MATCHED: Final = ("repository", "repository_id", "repository_owner_id", "ref", "environment", "workflow_ref")


class Binding(Struct, frozen=True):
    """``claims``: required values of a workflow token's claims; patterns with ``*``. All must match."""

    agent_id: str
    claims: tuple[tuple[str, str], ...]

    def fits(self, claims: JsonObject) -> bool:
        return all(
            isinstance(said := claims.get(name), str) and fnmatchcase(said, pattern) for name, pattern in self.claims
        )


def bindings() -> Kind:
    """The first binding that matches a token decides."""
    properties: JsonObject = {name: {"type": "string", "maxLength": 300} for name in _MATCHED}
    schema: JsonObject = {
        "type": "array",
        "maxItems": 200,
        "items": {
            "type": "object",
            "additionalProperties": False,
            "required": ["agent_id", "repository"],
            "properties": {"agent_id": _AGENT.schema, **properties},
        },
    }

    def check(value: JsonValue) -> tuple[Binding, ...]:
        if not isinstance(value, list) or len(value) > 200:
            raise ValueError("a list of at most 200 bindings")
        return tuple(_binding(one) for one in value)

    def show(value: tuple[Binding, ...]) -> JsonValue:
        return [{"agent_id": one.agent_id, **dict(one.claims)} for one in value]

    return Kind(schema, check, show)


def _binding(value: JsonValue) -> Binding:
    members = checked_object(value, {"agent_id", *_MATCHED})
    if "agent_id" not in members or "repository" not in members:
        raise ValueError("agent_id and repository are needed in each binding")
    owner, _, name = str(_TEXT.check(members["repository"])).partition("/")
    if not owner or not name or any(one in owner for one in "*?["):
        # With a pattern for the owner, any owner on GitHub could match.
        raise ValueError("repository: owner/name; only the name may be a pattern")
    claims = tuple((one, str(_TEXT.check(members[one]))) for one in _MATCHED if one in members)
    return Binding(str(_AGENT.check(members["agent_id"])), claims)


@dataclass(frozen=True, slots=True)
class GitHubActionsSettings:
    SECRETS: ClassVar[dict[str, str]] = {}

    enabled: bool = member(flag(), "Exchange workflow tokens for agent keys.", False)
    issuer: str = member(
        url(), "The issuer of workflow tokens. An Enterprise Server has its own.",
        "https://token.actions.githubusercontent.com",
    )  # fmt: skip
    audience: str = member(text(200), "The required audience of tokens (aud).", "headgate")
    bindings: tuple[Binding, ...] = member(bindings(), "The workflows and their agents.", ())
