"""Who changes something through the API, and when: as the services and the record want it."""

from admin_api.dependencies import Dependencies
from admin_api.principal import Principal
from headgate.audit.change import Change


def change_by(principal: Principal, dependencies: Dependencies) -> Change:
    return Change(org_id=principal.org_id, actor=principal.actor, user_id=principal.user_id, at=dependencies.clock())
