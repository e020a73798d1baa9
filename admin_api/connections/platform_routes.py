"""Connections that a platform has a part in: by consent (OAuth), to Bluesky, to an instance of Mastodon."""

from fastapi import APIRouter
from msgspec.structs import replace
from starlette.responses import Response

from admin_api.change import change_by
from admin_api.connections.answers import (
    ConnectionAnswer,
    MastodonStatusAnswer,
    OAuthStartAnswer,
    StatusesAnswer,
    connection_answer,
)
from admin_api.connections.schemas import (
    ChangedBluesky,
    ChangedMastodon,
    MastodonRegistration,
    NewBluesky,
    NewMastodon,
    OAuthReturn,
    OAuthStart,
    StatusBatch,
    secret_or_none,
)
from admin_api.connections.tagged import seen_revision, tagged_answer
from admin_api.dependencies import CurrentDependencies, CurrentPrincipal
from admin_api.etag import IfMatch
from admin_api.guarded_route import GuardedRoute
from admin_api.identifiers import ConnectionId
from headgate.connections.authorize import Begun, Returned, oauth_settings
from headgate.connections.draft import (
    ConnectionDraft,
    invalid,
    parse_check_path,
    parse_hosts,
    parse_secure_url,
)
from headgate.connections.model import AUTHORIZATION, ConnectionKind
from headgate.connections.oauth import parse_redirect_uri
from headgate.connections.platforms import Platform, find_platform
from headgate.kernel.canonical_json import JsonValue
from headgate.kernel.secrets import Secret

router = APIRouter(route_class=GuardedRoute, tags=["connections"])


@router.post("/v1/connections/oauth/initiate", status_code=201)
async def initiate(
    body: OAuthStart, principal: CurrentPrincipal, dependencies: CurrentDependencies
) -> OAuthStartAnswer:
    """Starts an OAuth consent: creates a pending connection, and returns the address at which the account owner
    consents (RFC 6749, section 4.1, with PKCE). The state belongs to the caller and works once."""
    platform, redirect_uri = find_platform(body.platform), parse_redirect_uri(body.redirect_uri)
    change, authorizes = change_by(principal, dependencies), dependencies.connections.authorizes
    if body.connection_id is not None:
        again = body.connection_id
        return _begun(await authorizes.begin_again(change, again, platform, redirect_uri))
    return _begun(await authorizes.begin(change, _draft(body, platform), platform, redirect_uri))


def _draft(body: OAuthStart, platform: Platform) -> ConnectionDraft:
    if ConnectionKind.OAUTH2 not in platform.kinds:
        raise invalid("platform", f"{platform.name} does not support OAuth consent")
    bound, addresses = body.bound(), body.addresses()
    if not body.client_id:
        raise invalid("client_id", "is required: the platform issues it to registered applications")
    for name, value in addresses.items():
        if name == "check_path":
            parse_check_path(value)
        else:
            parse_secure_url(name, value)
    hosts = platform.hosts if body.hosts is None else parse_hosts(body.hosts)
    if not hosts:
        raise invalid("hosts", f"is required: {platform.name} has no default hosts")
    return ConnectionDraft(
        name=bound.name,
        platform=platform.name,
        kind=ConnectionKind.OAUTH2,
        hosts=hosts,
        place=AUTHORIZATION,
        agents=bound.agents,
        tools=bound.tools,
        needs_placeholder=bound.needs_placeholder,
        account=None,
        scopes=platform.scopes if body.scopes is None else tuple(body.scopes),
        settings=oauth_settings(platform, body.client_id, addresses),
        secrets={} if body.client_secret is None else {"client_secret": Secret(body.client_secret)},
    )


@router.post("/v1/connections/oauth/callback")
async def callback(
    body: OAuthReturn, principal: CurrentPrincipal, dependencies: CurrentDependencies
) -> ConnectionAnswer:
    """Redeems the parameters of the OAuth redirect. Works once, and only for the person who started the consent."""
    returned = Returned(
        state=Secret(body.state),
        code=body.code,
        error=body.error,
        error_description=body.error_description,
        issuer=body.iss,
        redirect_uri=body.redirect_uri,
    )
    change = change_by(principal, dependencies)
    return connection_answer(await dependencies.connections.authorizes.finish(change, returned))


@router.post("/v1/connections/bluesky", status_code=201)
async def connect_bluesky(
    body: NewBluesky, principal: CurrentPrincipal, dependencies: CurrentDependencies
) -> ConnectionAnswer:
    """Connects a Bluesky account with an app password (AT Protocol). Headgate renews the session before it ends."""
    change = change_by(principal, dependencies)
    connection = await dependencies.connections.bluesky.connect(
        change, body.bound(), body.service, body.identifier, Secret(body.app_password)
    )
    return connection_answer(connection)


@router.put("/v1/connections/{connection_id}/bluesky")
async def update_bluesky(
    connection_id: ConnectionId,
    body: ChangedBluesky,
    response: Response,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    if_match: IfMatch = None,
) -> ConnectionAnswer:
    """Updates the agents and tools of a Bluesky connection, and its app password. If-Match: only if it is still at that
    version."""
    if body.identifier is not None and body.app_password is None:
        raise invalid("app_password", "is required with a different identifier")
    updated = await dependencies.connections.bluesky.update(
        change_by(principal, dependencies),
        connection_id,
        replace(body.binding(), seen_revision=seen_revision(if_match)),
        body.identifier,
        secret_or_none(body.app_password),
    )
    return tagged_answer(updated, response)


@router.post("/v1/connections/mastodon", status_code=201)
async def connect_mastodon(
    body: NewMastodon, principal: CurrentPrincipal, dependencies: CurrentDependencies
) -> ConnectionAnswer:
    """Connects a Mastodon account with a token of its owner. The instance names the account."""
    connection = await dependencies.connections.mastodon.connect(
        change_by(principal, dependencies), body.bound(), body.instance, Secret(body.access_token)
    )
    return connection_answer(connection)


@router.post("/v1/connections/mastodon/register", status_code=201)
async def register_mastodon(
    body: MastodonRegistration, principal: CurrentPrincipal, dependencies: CurrentDependencies
) -> OAuthStartAnswer:
    """Registers an application at a Mastodon instance. Returns the address at which the account owner consents. The
    OAuth callback completes the connection."""
    begun = await dependencies.connections.mastodon.register(
        change_by(principal, dependencies),
        body.bound(),
        body.instance,
        parse_redirect_uri(body.redirect_uri),
        body.scopes,
    )
    return _begun(begun)


@router.get("/v1/connections/{connection_id}/mastodon/status")
async def mastodon_status(
    connection_id: ConnectionId, principal: CurrentPrincipal, dependencies: CurrentDependencies
) -> MastodonStatusAnswer:
    """Gets the account of a Mastodon connection and the title and version of its instance."""
    found = await dependencies.connections.mastodon.status(principal.org_id, connection_id)
    return MastodonStatusAnswer(
        connection_id=connection_id,
        instance=found.instance,
        title=found.title,
        version=found.version,
        account=found.account.acct,
        display_name=found.account.display_name,
        statuses_count=found.account.statuses_count,
        followers_count=found.account.followers_count,
    )


@router.post("/v1/connections/{connection_id}/mastodon/batch")
async def mastodon_batch(
    connection_id: ConnectionId, body: StatusBatch, principal: CurrentPrincipal, dependencies: CurrentDependencies
) -> StatusesAnswer:
    """Gets several statuses as the account sees them. Read-only: a post is an agent's action, which policies decide."""
    found: list[JsonValue] = await dependencies.connections.mastodon.statuses(principal.org_id, connection_id, body.ids)
    return StatusesAnswer(data=[one for one in found if isinstance(one, dict)])


@router.put("/v1/connections/{connection_id}/mastodon")
async def update_mastodon(
    connection_id: ConnectionId,
    body: ChangedMastodon,
    response: Response,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    if_match: IfMatch = None,
) -> ConnectionAnswer:
    """Updates the agents and tools of a Mastodon connection, and its token. If-Match: only if it is still at that
    version."""
    updated = await dependencies.connections.mastodon.update(
        change_by(principal, dependencies),
        connection_id,
        replace(body.binding(), seen_revision=seen_revision(if_match)),
        secret_or_none(body.access_token),
    )
    return tagged_answer(updated, response)


def _begun(begun: Begun) -> OAuthStartAnswer:
    return OAuthStartAnswer(
        connection=connection_answer(begun.connection),
        authorization_url=begun.authorization_url,
        state=begun.state.reveal(),
        redirect_uri=begun.redirect_uri,
        scopes=list(begun.scopes),
        expires_at=begun.expires_at,
    )
