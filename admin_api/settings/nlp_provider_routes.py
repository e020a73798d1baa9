"""/admin/settings/nlp-providers: the language models that an organization's policies may ask. Keys are never shown."""

import time

from fastapi import APIRouter
from pydantic import ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from admin_api.change import administer
from admin_api.dependencies import CurrentDependencies, CurrentPrincipal, Dependencies, principal_of
from admin_api.etag import IfMatch, expected_version
from admin_api.guarded_route import GuardedRoute
from admin_api.principal import Principal
from admin_api.schema import BaseModel
from admin_api.settings.tagged import require_before, tag_of
from headgate.audit.model import EventType
from headgate.db.database import Connection
from headgate.judges.model import JudgeError, Provider, ProviderKind, Question
from headgate.kernel.canonical_json import JsonObject, JsonValue, canonical_bytes, parse_strict
from headgate.kernel.errors import NotFoundError, ValidationError
from headgate.nlp_policies.model import MODEL_MAX_CHARACTERS
from headgate.nlp_policies.provider_service import (
    load_providers,
    names_with_keys,
    provider_settings,
    put_providers,
)
from headgate.organizations.model import SettingName
from headgate.vault.service import Vault

router = APIRouter(route_class=GuardedRoute, tags=["settings"])

_TRIAL_POLICY = "Deny calls that delete data."
_TRIAL_ACTION = {"tool": "database", "operation": "query", "params": {"sql": "SELECT 1"}}


class ProviderAnswer(BaseModel):
    kind: ProviderKind
    base_url: str
    has_api_key: bool
    models: list[str] = Field(description="Models that policies may use. Empty: any model.")
    input_price: float | None = Field(description="US dollars per million tokens.")
    output_price: float | None


ProvidersAnswer = dict[str, ProviderAnswer]
"""By name. ``embedded`` is always there and needs no setting."""


class Trial(BaseModel):
    """POST /admin/settings/nlp-providers/test."""

    model_config = ConfigDict(extra="forbid")

    provider: str
    model: str | None = Field(
        default=None,
        min_length=1,
        max_length=MODEL_MAX_CHARACTERS,
        description="Default: the first configured model of the provider.",
    )


class TrialAnswer(BaseModel):
    """``requests``: how many it took; more than one where the provider knows no schema, or had to be asked again.
    Null where it failed: some may have been sent."""

    ok: bool
    error: str | None
    message: str | None
    requests: int | None
    latency_ms: float


@router.get("/admin/settings/nlp-providers")
async def get_nlp_providers(
    response: Response, principal: CurrentPrincipal, dependencies: CurrentDependencies
) -> ProvidersAnswer:
    """Gets the model providers. An empty object if there are none."""
    async with dependencies.database.transaction(principal.org_id) as connection:
        await tag_of(connection, principal.org_id, SettingName.NLP_PROVIDERS, response)
        return await _answer(connection, principal.org_id, dependencies.vault)


@router.put("/admin/settings/nlp-providers")
async def set_nlp_providers(
    request: Request, response: Response, dependencies: CurrentDependencies, if_match: IfMatch = None
) -> ProvidersAnswer:
    """Replaces all model providers: ``{NAME: {kind?, base_url?, api_key?, models?, input_price?, output_price?}}``.

    A name that is a kind (``openai_compatible``, ``anthropic``, ``gemini``) needs no ``kind``. An omitted ``api_key``
    is kept; null deletes it. If-Match: only if they are still at that version.
    """
    body = await request.body()
    return await save_nlp_providers(principal_of(request), dependencies, parse_strict(body), response, if_match)


async def save_nlp_providers(
    principal: Principal,
    dependencies: Dependencies,
    document: JsonValue,
    response: Response,
    if_match: str | None,
) -> ProvidersAnswer:
    """Raises ValidationError, PreconditionFailedError (another version is there)."""
    expected = expected_version(if_match, None)
    async with administer(principal, dependencies) as change:
        await put_providers(change, document, dependencies.vault)
        await require_before(change.connection, principal.org_id, SettingName.NLP_PROVIDERS, expected)
        await tag_of(change.connection, principal.org_id, SettingName.NLP_PROVIDERS, response)
        return await _answer(change.connection, principal.org_id, dependencies.vault)


@router.post("/admin/settings/nlp-providers/test")
async def test_nlp_provider(body: Trial, principal: CurrentPrincipal, dependencies: CurrentDependencies) -> TrialAnswer:
    """Tests a model provider with a harmless request, as policies would send it."""
    async with dependencies.database.transaction(principal.org_id) as connection:
        setting = (await provider_settings(connection, principal.org_id)).get(body.provider)
        provider = (await load_providers(connection, principal.org_id, dependencies.vault)).get(body.provider)
    if provider is None or setting is None:
        raise NotFoundError(f"no provider {body.provider[:64]}: configure it with PUT /admin/settings/nlp-providers")
    model = body.model or next(iter(setting.models), None)
    if model is None:
        raise ValidationError("model: required, because this provider has no default model", details={"field": "model"})
    async with administer(principal, dependencies) as change:
        tried: JsonObject = {"name": "nlp_providers", "provider": body.provider, "model": model}
        await change.record(EventType.SETTING_TESTED, tried)
    started = time.perf_counter()
    try:
        verdict = await dependencies.nlp.judges.ask(_trial(principal.org_id, provider, model), use_cache=False)
    except JudgeError as error:
        return _trial_answer(started, ok=False, error=error.failure.value, message=error.message)
    return _trial_answer(started, ok=True, requests=verdict.requests)


def _trial(org_id: str, provider: Provider, model: str) -> Question:
    return Question(provider, model, _TRIAL_POLICY, 0.7, canonical_bytes(_TRIAL_ACTION), (org_id,))


def _trial_answer(
    started: float, *, ok: bool, error: str | None = None, message: str | None = None, requests: int | None = None
) -> TrialAnswer:
    elapsed_ms = round((time.perf_counter() - started) * 1000, 3)
    return TrialAnswer(ok=ok, error=error, message=message, requests=requests, latency_ms=elapsed_ms)


async def _answer(connection: Connection, org_id: str, vault: Vault) -> ProvidersAnswer:
    with_keys = await names_with_keys(connection, org_id, vault)
    return {
        name: ProviderAnswer(
            kind=one.kind,
            base_url=one.base_url,
            has_api_key=name in with_keys,
            models=list(one.models),
            input_price=one.input_price,
            output_price=one.output_price,
        )
        for name, one in (await provider_settings(connection, org_id)).items()
    }
