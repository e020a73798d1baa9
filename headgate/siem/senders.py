"""Handing a batch of events to one destination. Each raises StreamError where it was not taken whole.

HTTP destinations say that they have taken it (2xx). Syslog has no acknowledgement (RFC 6587, section 3.2): the
connection is closed after every batch and the receiver's own end of it awaited, so that a batch counts as taken only
once the other side has read to its end; a file's is durable.
"""

import asyncio
import os
import ssl
from pathlib import Path
from typing import Final

from msgspec import Struct

from headgate.kernel.secrets import Secret
from headgate.organizations.destinations import DestinationRules
from headgate.outgoing.clear_text import PrivateOnly, rules_for
from headgate.outgoing.client import OutgoingClient
from headgate.outgoing.guarded_network import GuardedNetwork
from headgate.outgoing.model import OutgoingError, OutgoingLimits, OutgoingRequest
from headgate.outgoing.resolver import Resolver
from headgate.siem.model import Destination, DestinationKind

_CONNECT_SECONDS: Final = 5.0
_BATCH_SECONDS: Final = 20.0
_CLOSE_SECONDS: Final = 5.0
_LIMITS: Final = OutgoingLimits(connect_seconds=_CONNECT_SECONDS, deadline_seconds=_BATCH_SECONDS)
_FILE_MODE: Final = 0o640
_SUCCESS: Final = range(200, 300)


class StreamError(Exception):
    """The destination did not take it; the message may be shown."""


class Senders(Struct, frozen=True):
    """``folder``: where files go; None: the operator has set none aside."""

    client: OutgoingClient
    trust: ssl.SSLContext
    resolve: Resolver
    folder: Path | None

    async def send(
        self, org_id: str, destination: Destination, lines: bytes, authorization: Secret | None, rules: DestinationRules
    ) -> None:
        """``lines``: framed syslog messages, or lines of JSON. Raises StreamError."""
        try:
            match destination.kind:
                case DestinationKind.HTTP:
                    await self._post(destination, lines, authorization, rules)
                case DestinationKind.SYSLOG_TCP | DestinationKind.SYSLOG_TLS:
                    async with asyncio.timeout(_BATCH_SECONDS):
                        await self._syslog(destination, lines, rules)
                case DestinationKind.FILE:
                    await asyncio.to_thread(self._append, org_id, destination, lines)
        except TimeoutError as error:
            raise StreamError(f"it did not accept a batch within {_BATCH_SECONDS:g} s") from error
        except OutgoingError as error:
            raise StreamError(error.message) from error
        except OSError as error:
            raise StreamError(f"the connection broke: {str(error) or type(error).__name__}") from error

    async def _post(
        self, destination: Destination, lines: bytes, authorization: Secret | None, rules: DestinationRules
    ) -> None:
        headers = [("Content-Type", "application/x-ndjson")]
        if authorization is not None:
            headers.append(("Authorization", authorization.reveal()))
        request = OutgoingRequest("POST", destination.address, tuple(headers), lines)
        answer = await self.client.send(request, rules_for(destination.address, rules), _LIMITS)
        if answer.status not in _SUCCESS:
            raise StreamError(f"it answered {answer.status}")

    async def _syslog(self, destination: Destination, lines: bytes, rules: DestinationRules) -> None:
        is_tls = destination.kind is DestinationKind.SYSLOG_TLS
        network = GuardedNetwork(rules if is_tls else PrivateOnly(rules), self.resolve)
        addresses = await network.permitted(destination.host, destination.port)
        reader, writer = await asyncio.open_connection(
            str(addresses[0]),
            destination.port,
            ssl=self.trust if is_tls else None,
            server_hostname=destination.host if is_tls else None,
            ssl_handshake_timeout=_CONNECT_SECONDS if is_tls else None,
            ssl_shutdown_timeout=_CLOSE_SECONDS if is_tls else None,
        )
        try:
            writer.write(lines)
            await writer.drain()
            if not is_tls:
                writer.write_eof()
                async with asyncio.timeout(_CLOSE_SECONDS):
                    await reader.read()
            # TLS says goodbye by itself when it is closed, and waits for the other side's.
            writer.close()
            await writer.wait_closed()
        finally:
            # What is left where it did not come so far: a closed connection waits for a receiver that reads no more.
            writer.transport.abort()

    def _append(self, org_id: str, destination: Destination, lines: bytes) -> None:
        if self.folder is None:
            raise StreamError("The operator of this instance has not configured a folder (HEADGATE_SIEM_FOLDER).")
        folder = self.folder / org_id
        folder.mkdir(mode=0o750, parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(folder / f"{destination.name}.jsonl", flags, _FILE_MODE)
        try:
            rest = memoryview(lines)
            while rest:
                rest = rest[os.write(descriptor, rest) :]
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
