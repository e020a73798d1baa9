"""Setting and loading an organization's providers."""

from headgate.db.database import Connection
from headgate.judges.model import Provider
from headgate.kernel.canonical_json import JsonObject, JsonValue, parse_strict
from headgate.kernel.errors import ValidationError
from headgate.nlp_policies.model import ONNX
from headgate.nlp_policies.provider_settings import (
    ProviderSetting,
    parse_providers,
    require_keys_again,
    require_open_addresses,
    vault_name,
)
from headgate.organizations.change import OrganizationChange
from headgate.organizations.change_setting import change_setting
from headgate.organizations.destinations import OperatorBounds
from headgate.organizations.model import SettingName
from headgate.organizations.store import get_setting
from headgate.organizations.stored_rules import stored_bounds
from headgate.vault.service import Vault


async def provider_settings(connection: Connection, org_id: str) -> dict[str, ProviderSetting]:
    """As they are set, without keys; none where they never were."""
    setting = await get_setting(connection, org_id, SettingName.NLP_PROVIDERS)
    if setting is None:
        return {}
    return parse_providers(parse_strict(setting.document.encode())).providers


async def names_with_keys(connection: Connection, org_id: str, vault: Vault) -> frozenset[str]:
    prefix = vault_name("")
    return frozenset(name.removeprefix(prefix) for name in await vault.names(connection, org_id, prefix))


async def load_providers(connection: Connection, org_id: str, vault: Vault) -> dict[str, Provider]:
    """With their keys, to be asked. Raises UnavailableError where a key does not open."""
    settings = await provider_settings(connection, org_id)
    keys = await vault.open(connection, org_id, map(vault_name, settings))
    rules = OperatorBounds(await stored_bounds(connection, org_id))
    return {name: one.with_key(keys.get(vault_name(name)), rules) for name, one in settings.items()}


async def put_providers(change: OrganizationChange, document: JsonValue, vault: Vault) -> dict[str, ProviderSetting]:
    """In place of all that were set. Keys that are not given stay, those of providers that go are forgotten.

    Raises ValidationError, UnavailableError.
    """
    draft, org_id = parse_providers(document), change.org_id
    if ONNX in draft.providers:  # not refused when read: an organization may have had one before the name was taken
        reason = "the name stands for local classifiers, which need no setting: choose another"
        raise ValidationError(f"{ONNX}: {reason}", details={"field": ONNX, "reason": reason})
    await change.raise_generation()  # locks: changes of one organization are ordered
    kept = await names_with_keys(change.connection, org_id, vault)
    require_keys_again(draft, await provider_settings(change.connection, org_id), kept)
    require_open_addresses(draft, OperatorBounds(await stored_bounds(change.connection, org_id)))
    for name in kept - draft.providers.keys():
        await vault.forget(change.connection, org_id, vault_name(name))
    for name, key in draft.keys.items():
        if key is None:
            await vault.forget(change.connection, org_id, vault_name(name))
        else:
            await vault.keep(change.connection, org_id, vault_name(name), key)
    stored: JsonObject = {name: one.record() for name, one in draft.providers.items()}
    told: JsonObject = {"keys_changed": list[JsonValue](sorted(draft.keys))}
    await change_setting(change, SettingName.NLP_PROVIDERS, stored, moves_generation=True, told=told)
    return draft.providers
