"""Later messages: those that the client of a bidirectional call of gRPC or Connect sends after those with which the
call was decided.

``proxy.bidirectional_call`` moves the bytes; this decides. Messages that arrive together are one action: the call,
with them as its body.
"""

from functools import partial

from mitmproxy.http import HTTPFlow

from addons.call_reading import CallReader
from addons.client_deadline import client_seconds
from addons.client_messages import AdmittedMessage, ClientMessages, MessageGate
from headgate.connections.model import Connection
from headgate.gate.held_call import HeldCall
from headgate.nlp_policies.message_window import MessageWindow


class LaterMessages(ClientMessages):
    """``window``: with the first messages, if a policy about content has looked at them."""

    def __init__(
        self,
        message_gate: MessageGate,
        reader: CallReader,
        flow: HTTPFlow,
        connection: Connection | None,
        window: MessageWindow,
    ) -> None:
        super().__init__(message_gate, connection, window)
        self._reader = reader
        self._flow = flow

    async def decide(self, frames: bytes) -> AdmittedMessage:
        """Decides about these whole messages as one action. Raises HeadgateError."""
        arrived = self._window.arrived()
        self.count_as_call()
        reading = self._reader.begin(self._flow, self.caller, body=frames, arrived=arrived)
        held = HeldCall(self, partial(client_seconds, self._flow))
        try:
            if reading.at_once() is None:
                await reading.read()
            return await self.admit(reading, held, frames)
        finally:
            reading.end()
