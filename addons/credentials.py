"""Writes the credential of the call's connection, once the call is allowed and on record.

The request of the flow stays as the agent sent it, so that whoever records, captures or logs it afterwards cannot see
the secret; what goes to the destination is another message (``FlowState.outgoing``), which only the stream reads
(``proxy.carrying_request``), and which masks the credential in the answer before anybody sees that either
(``proxy.masked_answer``).
"""

from collections.abc import Coroutine

from mitmproxy.http import HTTPFlow

from addons.http_call import http_call
from addons.refuse import refuse_with
from addons.verdict import LATCH, FlowState, flow_state
from headgate.connections.carried import Carried
from headgate.connections.count_connection_uses import ConnectionUses
from headgate.connections.credential import CertificateCredential, ShownCertificate
from headgate.connections.model import Connection
from headgate.connections.open_credential import OpenCredentials
from headgate.kernel.clock import Clock
from headgate.kernel.errors import HeadgateError


class Credentials:
    """After the decision, before the latch is lifted."""

    def __init__(self, opened: OpenCredentials, uses: ConnectionUses, clock: Clock) -> None:
        self._opened = opened
        self._uses = uses
        self._clock = clock

    def request(self, flow: HTTPFlow) -> Coroutine[object, object, None] | None:
        state = flow_state(flow)
        connection = state.connection
        if connection is None or flow.response is not LATCH or not state.allowed:
            return None
        carried = self._opened.kept(connection)
        if carried is None:
            return self._open(flow, state, connection)
        self._write(flow, state, connection, carried)
        return None

    async def _open(self, flow: HTTPFlow, state: FlowState, connection: Connection) -> None:
        try:
            carried = await self._opened.open(connection)
        except HeadgateError as error:
            refuse_with(flow, error)
            return
        self._write(flow, state, connection, carried)

    def _write(self, flow: HTTPFlow, state: FlowState, connection: Connection, carried: Carried) -> None:
        caller = state.client.caller
        if caller is None or caller.identity.agent_id is None:
            raise RuntimeError("a call with a connection, and nobody's")
        try:
            state.outgoing = carried.written(http_call(flow), self._clock())
        except HeadgateError as error:
            refuse_with(flow, error)
            return
        state.echoes = carried.mask
        if isinstance(carried.credential, CertificateCredential):
            state.shown = ShownCertificate(
                connection.org_id, caller.identity.agent_id, connection.connection_id, carried.credential
            )
        self._uses.used(connection, caller.identity.agent_id)

    def response(self, flow: HTTPFlow) -> None:
        state = flow_state(flow)
        connection, caller = state.connection, state.client.caller
        if connection is None or caller is None or not state.sent_upstream or flow.response is None:
            return
        if flow.response.status_code == 401 and caller.identity.agent_id is not None:
            self._opened.forget(connection)
            self._uses.rejected(connection, caller.identity.agent_id)
