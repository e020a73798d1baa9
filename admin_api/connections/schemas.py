"""What is sent about connections: secrets, too, which no answer holds."""

from typing import Annotated

from pydantic import ConfigDict, Field, StrictBool

from admin_api.identifiers import ConnectionId
from admin_api.schema import BaseModel
from admin_api.text import StorableText
from headgate.connections.draft import parse_agents, parse_name, parse_tools
from headgate.connections.model import ConnectionKind, Location
from headgate.connections.platforms import platforms
from headgate.connections.service import Binding
from headgate.connections.social_connection import Bound
from headgate.kernel.ids import IdPrefix, id_pattern
from headgate.kernel.secrets import Secret

type Name = Annotated[
    str,
    Field(
        min_length=1,
        max_length=64,
        description="`^[a-z][a-z0-9_]*$`; The placeholder is `hg_placeholder_` followed by this name.",
        json_schema_extra={"pattern": "^[a-z][a-z0-9_]*$", "examples": ["build_robot"]},
    ),
]
type Agents = Annotated[
    list[Annotated[str, Field(max_length=64, json_schema_extra={"pattern": f"{id_pattern(IdPrefix.AGENT)}|^[*]$"})]],
    Field(max_length=1000, description="Ids of the agents that may use it. `*`: all. Empty: no agent yet."),
]
type Tools = Annotated[
    list[Annotated[str, Field(max_length=64, json_schema_extra={"pattern": "^([a-z][a-z0-9_]*|[*])$"})]],
    Field(max_length=1000, description="Tools whose calls use it. `*`: all."),
]
type Url = Annotated[str, Field(min_length=1, max_length=2048)]
type Scopes = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[!-~]+$")]], Field(max_length=100)
]
type SecretText = Annotated[
    str, Field(min_length=1, max_length=16384, description="Write-only.", json_schema_extra={"writeOnly": True})
]


class Bindings(BaseModel):
    """Agents and tools of a new connection."""

    model_config = ConfigDict(extra="forbid")

    name: Name
    agents: Agents = Field(default_factory=list)
    tools: Tools = Field(default_factory=lambda: ["*"])
    needs_placeholder: StrictBool = Field(
        default=False,
        description="Only calls with its placeholder use it. Otherwise every call to its hosts does.",
    )

    def bound(self) -> Bound:
        return Bound(parse_name(self.name), parse_agents(self.agents), parse_tools(self.tools), self.needs_placeholder)


class BindingChange(BaseModel):
    """Omitted fields keep their values."""

    model_config = ConfigDict(extra="forbid")

    agents: Agents | None = None
    tools: Tools | None = None
    needs_placeholder: StrictBool | None = None

    def binding(self) -> Binding:
        return Binding(
            agents=None if self.agents is None else parse_agents(self.agents),
            tools=None if self.tools is None else parse_tools(self.tools),
            needs_placeholder=self.needs_placeholder,
        )


class PlaceBody(BaseModel):
    """Position of an API key: a header, a query parameter, or a top-level member of a JSON or form body."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    location: Location = Field(default=Location.HEADER, alias="in")
    name: Annotated[str, Field(min_length=1, max_length=64)] = "X-API-Key"
    prefix: Annotated[str, Field(max_length=64)] = ""


class NewConnection(Bindings):
    """POST /v1/connections: a credential that a person has.

    `credentials` by kind: api_key and bearer `secret`; basic `user`, `password`; client_credentials `client_secret`
    (settings `client_id`, `token_url`); aws_sigv4 `access_key_id`, `secret_access_key`, `session_token` (settings
    `region`, `service`); mtls `certificate`, `private_key` in PEM. `settings.check_path` is what a test asks for.
    """

    kind: ConnectionKind
    hosts: Annotated[list[Annotated[str, Field(max_length=300)]], Field(min_length=1, max_length=32)] = Field(
        description="Exact hosts, with the port unless it is 443. The credential is sent only to these hosts."
    )
    place: PlaceBody = Field(default_factory=PlaceBody)
    platform: Annotated[str, Field(json_schema_extra={"enum": ["generic", *sorted(platforms())]})] = "generic"
    account: Annotated[StorableText | None, Field(max_length=320)] = None
    scopes: Scopes = Field(default_factory=list)
    settings: dict[str, str] = Field(default_factory=dict, max_length=10)
    credentials: dict[str, SecretText] = Field(max_length=10)


class ChangedConnection(BindingChange):
    """PATCH /v1/connections/{id}. `credentials`: others, in place of all that are kept."""

    credentials: dict[str, SecretText] | None = Field(default=None, max_length=10)


class OAuthStart(Bindings):
    """POST /v1/connections/oauth/initiate. `connection_id`: consent again for one that there is; then only
    `redirect_uri` counts besides. Addresses and hosts: of a platform that is not in the list, or hosted by oneself."""

    name: Annotated[str, Field(max_length=64)] = ""
    platform: Annotated[str, Field(json_schema_extra={"enum": sorted(platforms())})]
    redirect_uri: Url
    connection_id: ConnectionId | None = None
    client_id: Annotated[str, Field(max_length=512, pattern=r"^[!-~]*$")] = ""
    client_secret: SecretText | None = None
    scopes: Scopes | None = None
    hosts: Annotated[list[Annotated[str, Field(max_length=300)]] | None, Field(max_length=32)] = None
    authorization_url: Url | None = None
    token_url: Url | None = None
    issuer: Url | None = None
    check_path: Annotated[str | None, Field(max_length=2048)] = None

    def addresses(self) -> dict[str, str]:
        given = {name: getattr(self, name) for name in ("authorization_url", "token_url", "issuer", "check_path")}
        return {name: value for name, value in given.items() if value is not None}


class OAuthReturn(BaseModel):
    """POST /v1/connections/oauth/callback: the query parameters of the platform's redirect."""

    model_config = ConfigDict(extra="forbid")

    state: SecretText
    code: SecretText | None = None
    error: Annotated[str | None, Field(max_length=500)] = None
    error_description: Annotated[str | None, Field(max_length=2000)] = None
    iss: Annotated[str | None, Field(max_length=2048)] = None
    redirect_uri: Url | None = None


class NewBluesky(Bindings):
    """POST /v1/connections/bluesky. An app password, made in the account's settings; never the account's own."""

    identifier: Annotated[str, Field(min_length=3, max_length=320, json_schema_extra={"pattern": "^[!-~]+$"})]
    app_password: SecretText
    service: Url = "https://bsky.social"


class ChangedBluesky(BindingChange):
    identifier: (
        Annotated[str, Field(min_length=3, max_length=320, json_schema_extra={"pattern": "^[!-~]+$"})] | None
    ) = None
    app_password: SecretText | None = None


class NewMastodon(Bindings):
    """POST /v1/connections/mastodon: with the token of an application that was made in the account's settings."""

    instance: Annotated[str, Field(min_length=1, max_length=300)]
    access_token: SecretText


class MastodonRegistration(Bindings):
    """POST /v1/connections/mastodon/register: an application at the instance; then its owner consents."""

    instance: Annotated[str, Field(min_length=1, max_length=300)]
    redirect_uri: Url
    scopes: Scopes = Field(default_factory=list)


class ChangedMastodon(BindingChange):
    access_token: SecretText | None = None


class StatusBatch(BaseModel):
    """POST /v1/connections/{id}/mastodon/batch."""

    model_config = ConfigDict(extra="forbid")

    ids: Annotated[
        list[Annotated[str, Field(pattern="^[0-9]{1,32}$", examples=["109372843234"])]],
        Field(min_length=1, max_length=20),
    ]


def secret_or_none(text: str | None) -> Secret | None:
    return None if text is None else Secret(text)
