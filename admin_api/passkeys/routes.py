"""/v1/passkeys: a person's own."""

from fastapi import APIRouter

from admin_api.deleted import DeletedAnswer
from admin_api.dependencies import CurrentDependencies
from admin_api.guarded_route import GuardedRoute
from admin_api.identifiers import PasskeyId
from admin_api.mfa.person import CurrentPerson
from admin_api.passkeys.available import passkeys_of
from admin_api.passkeys.schemas import (
    NewPasskeyBody,
    PasskeyAnswer,
    PasskeyOptions,
    PasskeysAnswer,
    passkey_answer,
)

router = APIRouter(route_class=GuardedRoute, tags=["passkeys"])


@router.get("/v1/passkeys")
async def own(person: CurrentPerson, dependencies: CurrentDependencies) -> PasskeysAnswer:
    """Lists the caller's passkeys."""
    return PasskeysAnswer(data=[passkey_answer(one) for one in await passkeys_of(dependencies).of_person(person)])


@router.post("/v1/passkeys/options")
async def options(person: CurrentPerson, dependencies: CurrentDependencies) -> PasskeyOptions:
    """Starts the registration of a passkey. If the person has a second factor or a passkey, a session that used it
    (aal2) is needed."""
    return PasskeyOptions(public_key=await passkeys_of(dependencies).options_for_person(person))


@router.post("/v1/passkeys", status_code=201)
async def add(body: NewPasskeyBody, person: CurrentPerson, dependencies: CurrentDependencies) -> PasskeyAnswer:
    """Registers the passkey that an authenticator created from these options."""
    return passkey_answer(await passkeys_of(dependencies).add(person, body.name, body.response))


@router.delete("/v1/passkeys/{id}")
async def remove(id: PasskeyId, person: CurrentPerson, dependencies: CurrentDependencies) -> DeletedAnswer:  # noqa: A002 - as everywhere
    """Removes a passkey. It can no longer sign in. Needs a session with a second factor (aal2)."""
    await passkeys_of(dependencies).remove(person, id)
    return DeletedAnswer(id=id)
