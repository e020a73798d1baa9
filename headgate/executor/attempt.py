"""Makes one attempt: sends the request, inspects the response by content policies, and judges the result."""

from collections.abc import Callable

import structlog
from msgspec.structs import replace

from headgate.connections.carried import Carried
from headgate.connections.count_connection_uses import ConnectionUses
from headgate.connections.credential import CertificateCredential
from headgate.connections.errors import NoConnectionError
from headgate.executions.judge_attempt import Attempt, judge_failure, judge_response
from headgate.executions.model import Settlement
from headgate.executions.outgoing_request import outgoing_request
from headgate.executions.result import kept_result, withheld_result, without_echoes
from headgate.executions.success import failure_in_body
from headgate.executor.claim import Claimed
from headgate.executor.inspect_result import ResultInspector
from headgate.executor.redecide import Permitted
from headgate.gate.inspect_answer import shown_inspection
from headgate.kernel.clock import Clock
from headgate.outgoing.clear_text import rules_for
from headgate.outgoing.client import OutgoingClient
from headgate.outgoing.model import OutgoingError, OutgoingLimits
from headgate.tools.match import CatalogueIndex

_log = structlog.get_logger(__name__)

_DEFECT = "outcome unknown: carrying it out failed in a way that nobody foresaw"


class AttemptMaker:
    """Of one process; ``chance`` is for the jitter."""

    def __init__(
        self,
        catalogue: CatalogueIndex,
        client: OutgoingClient,
        inspector: ResultInspector,
        uses: ConnectionUses,
        clock: Clock,
        chance: Callable[[], float],
    ) -> None:
        self._catalogue = catalogue
        self._client = client
        self._inspector = inspector
        self._uses = uses
        self._clock = clock
        self._chance = chance

    async def make(self, org_id: str, permitted: Permitted, claimed: Claimed) -> Settlement:
        """How it ended, or when it is made again. Raises nothing."""
        try:
            return await self._make(permitted, claimed)
        except Exception:  # noqa: BLE001 - whatever it was, the attempt is settled, and honestly
            _log.exception("execution_failed", org_id=org_id, execution_id=permitted.queued.execution_id)
            return Settlement(False, _DEFECT, None)

    async def _make(self, permitted: Permitted, claimed: Claimed) -> Settlement:
        queued, limits = permitted.queued, permitted.queued.limits
        draft = permitted.candidate.draft
        entry = self._catalogue.tools.get(draft.tool, {}).get(draft.operation)
        connection = permitted.candidate.connection
        try:
            request = outgoing_request(draft, entry, queued.execution_id, claimed.carried, self._clock())
        except NoConnectionError as error:
            return Settlement(False, f"not sent: {error.message}", None, nothing_sent=True)
        if connection is not None:
            self._uses.used(connection, queued.agent_id)
        attempt = Attempt(
            claimed.claim.attempt, queued.repeatable, draft.expected_status, self._chance(), self._clock()
        )
        bounds = OutgoingLimits(deadline_seconds=limits.timeout_seconds)
        # A credential goes in clear text to where the administrator has allowed a private address, and nowhere else.
        allowlist = permitted.state.allowlist
        rules = allowlist if claimed.carried is None else rules_for(request.url, allowlist)
        try:
            answered = await self._client.send(request, rules, bounds, _identity(claimed.carried))
        except OutgoingError as error:
            return judge_failure(attempt, error, limits)
        if connection is not None and answered.status == 401:
            self._uses.rejected(connection, queued.agent_id)
        response = answered if claimed.carried is None else without_echoes(answered, claimed.carried.mask)
        failure = failure_in_body(response, entry.success if entry else None)
        verdicts = await self._inspector.verdicts(permitted.state, permitted.candidate, response)
        if verdicts is not None and verdicts.withheld is not None:
            inspection = verdicts.inspection()
            result = withheld_result(response, shown_inspection(inspection))
            settlement = judge_response(attempt, response, result, limits, failure_in_body=failure)
            return replace(settlement, withheld={"status": response.status, **inspection})
        if verdicts is not None and verdicts.masked is not None:
            response = replace(response, body=verdicts.masked.body)
        result = kept_result(response, keep=entry.sending.keep if entry else (), most_bytes=limits.result_max_bytes)
        if verdicts is not None:
            result["inspection"] = verdicts.inspection()
        return judge_response(attempt, response, result, limits, failure_in_body=failure)


def _identity(carried: Carried | None) -> CertificateCredential | None:
    credential = None if carried is None else carried.credential
    return credential if isinstance(credential, CertificateCredential) else None
