"""Who asks the review process: a person, whichever of their sessions and keys they use, or a program."""

from typing import Annotated

from fastapi import Depends
from starlette.requests import Request

from admin_api.dependencies import CurrentPrincipal
from admin_api.principal import Principal
from admin_api.services.traffic_review import Asker


def asker_of(request: Request, principal: Principal) -> Asker:
    # By the person first: somebody who makes many keys has no more questions for it.
    person = principal.user_id or principal.key_id or principal.org_id
    return Asker(principal.org_id, person, request.is_disconnected)


def _asker(request: Request, principal: CurrentPrincipal) -> Asker:
    return asker_of(request, principal)


type CurrentAsker = Annotated[Asker, Depends(_asker)]
