"""/admin/overview/health: what waits in an organization, and the processes that work on it."""

from fastapi import APIRouter

from admin_api.dependencies import CurrentDependencies, CurrentPrincipal
from admin_api.guarded_route import GuardedRoute
from admin_api.overview.health_schemas import (
    ExecutionBacklogAnswer,
    OverviewHealthAnswer,
    SiemBacklogAnswer,
    backlog_answer,
    process_answers,
)
from headgate.actions.instance_store import reported_processes
from headgate.audit.feed_store import newest_seq
from headgate.db.database import Connection
from headgate.deliveries.backlog_store import pending_deliveries
from headgate.executions.statistics_store import waiting_executions
from headgate.journal.apply import apply_before_reading
from headgate.siem.service import load_destinations
from headgate.siem.store import load_states

router = APIRouter(route_class=GuardedRoute, tags=["actions"])


@router.get("/admin/overview/health")
async def get_health(principal: CurrentPrincipal, dependencies: CurrentDependencies) -> OverviewHealthAnswer:
    """Gets the backlogs of the organization (executions, webhooks, notifications, integrations, SIEM export) and the
    proxies and workers with their versions."""
    org_id = principal.org_id
    await apply_before_reading(dependencies.database, org_id)
    async with dependencies.database.transaction(org_id) as connection:
        waiting = await waiting_executions(connection, org_id)
        pending = await pending_deliveries(connection, org_id)
        siem = await _siem(connection, org_id)
        processes = await reported_processes(connection)
    return OverviewHealthAnswer(
        executions=ExecutionBacklogAnswer(
            waiting=waiting.queued,
            scheduled=waiting.scheduled,
            running=waiting.running,
            oldest_seconds=round(max(0.0, waiting.oldest_queued_seconds), 3),
        ),
        webhooks=backlog_answer(pending["webhook"]),
        notifications=backlog_answer(pending["channel"]),
        integrations=backlog_answer(pending["integration"]),
        siem=siem,
        processes=process_answers(processes),
    )


async def _siem(connection: Connection, org_id: str) -> SiemBacklogAnswer:
    """Numbers only: the names and addresses of destinations are for administrators."""
    enabled = {name for name, one in (await load_destinations(connection, org_id)).items() if one.enabled}
    states = [one for one in await load_states(connection, org_id) if one.destination in enabled]
    newest = await newest_seq(connection, org_id) if states else 0
    return SiemBacklogAnswer(
        destinations=len(enabled),
        failing=sum(one.failing_since is not None for one in states),
        behind=max((newest - one.seq for one in states), default=0),
    )
